#include "unit/scarce/scarcity.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <utility>

namespace {

std::atomic<int> threads_left{std::numeric_limits<int>::max()};
std::atomic<const char*> starving{nullptr};
std::atomic<int> refused{0};

thread_local const std::function<bool()>* once = nullptr;

thread_local const std::function<void()>* next_free = nullptr;

void free_memory(void* memory) {
  if (const auto* const act = std::exchange(next_free, nullptr)) (*act)();
  std::free(memory);
}

bool starves_once() {
  const auto* const when = std::exchange(once, nullptr);
  if (when == nullptr) return false;
  if ((*when)()) return true;
  once = when;
  return false;
}

bool starves() {
  if (starves_once()) return true;
  const char* const name = starving;
  if (name == nullptr) return false;
  char own[16] = {};
  pthread_getname_np(pthread_self(), own, sizeof own);
  if (std::strcmp(own, name) != 0) return false;
  ++refused;
  return true;
}

}  // namespace

// Found by libboost_thread before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  if (threads_left-- <= 0) return EAGAIN;
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, run, argument);
}

void* operator new(std::size_t size) {
  void* const memory = starves() ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return starves() ? nullptr : std::malloc(size);
}
// g++ sees the two apart where it inlines one of them.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void operator delete(void* memory) noexcept { free_memory(memory); }
void operator delete(void* memory, std::size_t) noexcept { free_memory(memory); }

namespace distlock::testing {

int ThreadsLeft::left() { return std::max(0, threads_left.load()); }
int ThreadsLeft::refusals() { return std::max(0, -threads_left); }
ThreadsLeft::ThreadsLeft(int count) { threads_left = count; }
ThreadsLeft::~ThreadsLeft() { threads_left = std::numeric_limits<int>::max(); }

NoMemoryFor::NoMemoryFor(const char* thread_name) {
  refused = 0;
  starving = thread_name;
}
NoMemoryFor::~NoMemoryFor() { starving = nullptr; }
int NoMemoryFor::refusals() { return refused; }
NoMemoryOnce::NoMemoryOnce(const std::function<bool()>& when) { once = &when; }
NoMemoryOnce::~NoMemoryOnce() { once = nullptr; }
OnNextFree::OnNextFree(const std::function<void()>& act) { next_free = &act; }
OnNextFree::~OnNextFree() { next_free = nullptr; }

}  // namespace distlock::testing
