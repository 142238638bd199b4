#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

// To be loaded before a program: a clock whose library has a mutex, as libfaketime's has. Another
// thread may have it at a fork, and then the child waits for ever. This one aborts there, each
// time.
namespace {

std::atomic<bool> had_threads = false;
std::atomic<bool> forbidden = false;

bool has_threads() {
  std::array<char, 2048> text{};
  FILE* status = fopen("/proc/self/status", "re");
  if (status == nullptr) abort();
  text[fread(text.data(), 1, text.size() - 1, status)] = '\0';
  fclose(status);
  const char* line = strstr(text.data(), "\nThreads:");
  if (line == nullptr) abort();
  return atoi(line + strlen("\nThreads:")) > 1;
}

[[gnu::constructor]] void begin() {
  pthread_atfork([] { had_threads = has_threads(); }, nullptr,
                 [] { forbidden = had_threads.load(); });
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using Call = int (*)(clockid_t, timespec*);
  static const auto next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "clock_gettime"));
  if (forbidden) abort();
  return next(clock, now);
}
