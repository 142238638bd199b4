#include "process/tool_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace distlock::testing {
namespace {

// Not for synchronisation: the end of a test that would otherwise hang.
constexpr int kPatienceMilliseconds = 120'000;

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  Pipe() { check(pipe2(ends.data(), O_CLOEXEC) == 0, "pipe2"); }
  std::array<int, 2> ends{};
};

void wait_readable(int descriptor) {
  pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, kPatienceMilliseconds) == 0) throw std::runtime_error("the tool hangs");
}

void fill_up(int pipe) {
  check(fcntl(pipe, F_SETFL, O_NONBLOCK) == 0, "fcntl");
  const std::string junk(4096, '-');
  while (write(pipe, junk.data(), junk.size()) > 0) {
  }
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string tool_path() {
  const char* const other = getenv("DISTLOCK_TOOL");
  return other != nullptr ? other : DISTLOCK_TOOL;
}

ToolProcess::ToolProcess(const std::vector<std::string>& words, const Environment& environment,
                         Messages messages, const std::vector<int>& closed) {
  std::vector<std::string> arguments{tool_path()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> variables{std::string("PATH=") + getenv("PATH"), "MONGOC_DISABLE_SHM=1"};
  if (const char* folder = getenv("LD_LIBRARY_PATH")) {
    variables.push_back(std::string("LD_LIBRARY_PATH=") + folder);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + '=' + value);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);

  const Pipe in;
  const Pipe out;
  const Pipe err;
  if (messages != Messages::read) fill_up(err.ends[1]);
  const bool refuses = messages == Messages::in_a_full_pipe_that_refuses;
  if (!refuses) check(fcntl(err.ends[1], F_SETFL, 0) == 0, "fcntl");
  id_ = fork();
  if (id_ == 0) {
    dup2(in.ends[0], STDIN_FILENO);
    dup2(out.ends[1], STDOUT_FILENO);
    dup2(err.ends[1], STDERR_FILENO);
    for (const int stream : closed) close(stream);
    heed_the_keyboard();
    prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
    prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
    execve(argv[0], argv.data(), envp.data());
    _exit(99);
  }
  check(id_ > 0, "fork");
  for (const int theirs : {in.ends[0], out.ends[1], err.ends[1]}) close(theirs);
  input_ = in.ends[1];
  output_.descriptor = out.ends[0];
  messages_.descriptor = err.ends[0];
}

void heed_the_keyboard() {
  signal(SIGINT, SIG_DFL);
  signal(SIGQUIT, SIG_DFL);
}

ToolProcess::~ToolProcess() {
  close_input();
  if (status_ < 0) {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  close(output_.descriptor);
  close(messages_.descriptor);
}

void ToolProcess::send(int signal) const {
  if (status_ < 0) kill(id_, signal);
}

bool ToolProcess::maps(const std::filesystem::path& file) const {
  std::ifstream maps("/proc/" + std::to_string(id_) + "/maps");
  const std::string all(std::istreambuf_iterator<char>(maps), {});
  return all.find(file.string()) != std::string::npos;
}

bool ToolProcess::has_ended() const {
  siginfo_t ended{};
  const auto id = static_cast<id_t>(id_);
  check(waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) == 0, "waitid");
  return ended.si_pid == id_;
}

void ToolProcess::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

bool ToolProcess::fill(Stream& stream) {
  std::array<char, 4096> part{};
  wait_readable(stream.descriptor);
  const ssize_t got = read(stream.descriptor, part.data(), part.size());
  check(got >= 0, "read");
  stream.text.append(part.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::string ToolProcess::next_line(Stream& stream) {
  std::size_t end = 0;
  while ((end = stream.text.find('\n')) == std::string::npos) {
    if (!fill(stream)) throw std::runtime_error("the tool ended before that line");
  }
  const std::string line = stream.text.substr(0, end);
  stream.text.erase(0, end + 1);
  return line;
}

std::string ToolProcess::rest(Stream& stream) {
  while (fill(stream)) {
  }
  return std::exchange(stream.text, {});
}

std::string ToolProcess::next_output() { return next_line(output_); }
std::string ToolProcess::next_message() { return next_line(messages_); }
std::string ToolProcess::rest_of_output() { return rest(output_); }
std::string ToolProcess::rest_of_messages() { return rest(messages_); }

int ToolProcess::wait() {
  if (status_ >= 0) return status_;
  // By number: glibc 2.36 declares pidfd_open() without C linkage.
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, id_, 0));
  check(ended >= 0, "pidfd_open");
  wait_readable(ended);
  close(ended);
  int status = 0;
  check(waitpid(id_, &status, 0) == id_, "waitpid");
  if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
  status_ = signal_ != 0 ? 128 + signal_ : WEXITSTATUS(status);
  return status_;
}

}  // namespace distlock::testing
