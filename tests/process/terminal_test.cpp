#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "process/tool_fixture.h"
#include "support/exit_status_in.h"

using namespace distlock::testing;
using Words = ToolFixture::Words;

namespace {

// Not for synchronisation: the end of a test that would otherwise hang.
constexpr int kPatienceMilliseconds = 120'000;
constexpr char kStopped = 's';
constexpr char kContinued = 'c';
constexpr char kEnded = 'e';

/// All that exec wants for the tool, made before the fork.
class Image {
 public:
  /// `on_terminal`: whether its standard streams are.
  Image(Words words, const ToolFixture& fixture, bool on_terminal = true)
      : words_(std::move(words)), on_terminal_(on_terminal) {
    words_.insert(words_.begin(), tool_path());
    if (const char* folder = getenv("LD_LIBRARY_PATH")) {
      variables_.push_back(std::string("LD_LIBRARY_PATH=") + folder);
    }
    for (const auto& [name, value] : fixture.environment())
      variables_.push_back(name + '=' + value);
    argv_ = pointers(words_);
    envp_ = pointers(variables_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  [[noreturn]] void become() const {
    if (!on_terminal_) {
      const int nothing = open("/dev/null", O_RDWR);
      for (const int stream : {0, 1, 2}) dup2(nothing, stream);
    }
    heed_the_keyboard();
    execve(argv_[0], argv_.data(), envp_.data());
    _exit(99);
  }

 private:
  static std::vector<char*> pointers(Words& words) {
    std::vector<char*> result;
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
  }

  Words words_;
  const bool on_terminal_;
  Words variables_{std::string("PATH=") + getenv("PATH"), "MONGOC_DISABLE_SHM=1"};
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

/// The tool as the first process of a terminal, and thus the leader of its session.
class TerminalLeader {
 public:
  TerminalLeader(Words words, const ToolFixture& fixture) {
    const Image image(std::move(words), fixture);
    tool_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (tool_ == 0) image.become();
    if (tool_ < 0) throw std::runtime_error("forkpty");
  }
  ~TerminalLeader() {
    hang_up();
    if (ended_) return;
    kill(tool_, SIGKILL);
    waitpid(tool_, nullptr, 0);
  }
  TerminalLeader(const TerminalLeader&) = delete;
  TerminalLeader& operator=(const TerminalLeader&) = delete;

  /// As when the window is closed, or the connection lost.
  void hang_up() { close(std::exchange(terminal_, -1)); }

  int wait_for_status() {
    // By number: glibc 2.36 declares pidfd_open() without C linkage.
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, tool_, 0));
    pollfd waited{.fd = handle, .events = POLLIN, .revents = 0};
    ended_ = poll(&waited, 1, kPatienceMilliseconds) == 1;
    close(handle);
    if (!ended_) throw std::runtime_error("the tool hangs");
    int status = 0;
    REQUIRE(waitpid(tool_, &status, 0) == tool_);
    return exit_status_in(status);
  }

 private:
  pid_t tool_ = -1;
  int terminal_ = -1;
  bool ended_ = false;
};

/// The tool as the one job of a job-control shell, on a terminal of its own.
class TerminalJob {
 public:
  TerminalJob(Words words, const ToolFixture& fixture, bool on_terminal = true) {
    const Image image(std::move(words), fixture, on_terminal);
    if (pipe2(events_.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    if (pipe2(orders_.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    shell_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (shell_ == 0) be_shell(image);
    if (shell_ < 0) throw std::runtime_error("forkpty");
  }
  ~TerminalJob() {
    kill(shell_, SIGKILL);
    waitpid(shell_, nullptr, 0);
    close(terminal_);
    for (const int end : {events_[0], events_[1], orders_[0], orders_[1]}) close(end);
  }
  TerminalJob(const TerminalJob&) = delete;
  TerminalJob& operator=(const TerminalJob&) = delete;

  void type(char key) const { REQUIRE(write(terminal_, &key, 1) == 1); }

  /// As `fg`. Waits until that is done, for a SIGCONT discards a ^Z that is on its way.
  void go_on() const {
    REQUIRE(write(orders_[1], "", 1) == 1);
    REQUIRE(next_event() == kContinued);
  }

  void wait_until_stopped() const { REQUIRE(next_event() == kStopped); }

  int wait_for_status() const {
    REQUIRE(next_event() == kEnded);
    return static_cast<unsigned char>(next_event());
  }

 private:
  [[noreturn]] void be_shell(const Image& image) const {
    signal(SIGTTOU, SIG_IGN);  // Or who gives the terminal away is stopped for it.
    const pid_t job = fork();
    setpgid(job, job);
    tcsetpgrp(STDIN_FILENO, job == 0 ? getpid() : job);
    if (job == 0) {
      signal(SIGTTOU, SIG_DFL);
      image.become();
    }
    int status = 0;
    while (waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status)) {
      tell(kStopped);
      char order = 0;
      if (read(orders_[0], &order, 1) != 1) break;
      kill(-job, SIGCONT);
      tell(kContinued);
    }
    tell(kEnded);
    tell(static_cast<char>(exit_status_in(status)));
    pause();
    _exit(0);
  }

  void tell(char event) const {
    [[maybe_unused]] const ssize_t written = write(events_[1], &event, 1);
  }

  char next_event() const {
    pollfd waited{.fd = events_[0], .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, kPatienceMilliseconds) != 1) throw std::runtime_error("the job hangs");
    char event = 0;
    REQUIRE(read(events_[0], &event, 1) == 1);
    return event;
  }

  pid_t shell_ = -1;
  int terminal_ = -1;
  std::array<int, 2> events_{};
  std::array<int, 2> orders_{};
};

/// Waits until another opens the fifo and writes a line.
std::string line_from(const std::filesystem::path& fifo) {
  std::ifstream file(fifo);
  std::string line;
  std::getline(file, line);
  return line;
}

double last_number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  double last = 0;
  for (double number = 0; file >> number;) last = number;
  return last;
}

/// Where the job says that it is there.
std::filesystem::path fifo_of(const ToolFixture& fixture) {
  const auto path = fixture.folder.path() / "ready";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  return path;
}

}  // namespace

TEST_CASE("^Z and fg work as if the tool were not there", "[process][run]") {
  ToolFixture fixture;
  const auto ready = fifo_of(fixture);
  const TerminalJob job(
      {"run", "jobs", "--", "sh", "-c", "echo yes >" + ready.string() + "; read line; exit 4"},
      fixture);
  REQUIRE(line_from(ready) == "yes");
  for (int round = 0; round < 3; ++round) {
    job.type('\x1a');
    job.wait_until_stopped();
    job.go_on();
  }
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 1);
  job.type('\n');
  CHECK(job.wait_for_status() == 4);
}

TEST_CASE("^C ends the command once, also if it has stopped itself, and its status comes back",
          "[process][run]") {
  ToolFixture fixture;
  const auto ready = fifo_of(fixture);
  const bool stops = GENERATE(false, true);
  const std::string once_stopped = "(until grep -q stopped /proc/$$/status; do sleep 0.01; done; ";
  const std::string tell = "echo yes >" + ready.string();
  const std::string begin = stops ? once_stopped + tell + ") & kill -STOP $$; " : tell + "; ";
  const TerminalJob job(
      {"run", "jobs", "--", "sh", "-c", "trap 'exit 5' INT; " + begin + "read line"}, fixture);
  REQUIRE(line_from(ready) == "yes");
  job.type('\x03');
  CHECK(job.wait_for_status() == 5);
}

TEST_CASE("^C reaches a command in a group of its own", "[process][run][R9]") {
  ToolFixture fixture;
  const auto ready = fifo_of(fixture);
  // As timeout(1) makes itself one. That ends by a signal of which it learns right after its fork.
  const bool by_itself = GENERATE(false, true);
  Words words{"run", "jobs", "--"};
  if (by_itself) words.insert(words.end(), {"perl", "-e", "setpgrp; exec @ARGV"});
  words.insert(words.end(), {"sh", "-c",
                             "trap 'exit 5' INT; echo yes >" + ready.string() +
                                 "; while :; do sleep 0.01; done"});
  const TerminalJob job(words, fixture, by_itself);
  REQUIRE(line_from(ready) == "yes");
  job.type('\x03');
  CHECK(job.wait_for_status() == 5);
}

TEST_CASE("a terminal that goes away ends the command, also where the tool leads the session",
          "[process][run]") {
  ToolFixture fixture;
  const auto ready = fifo_of(fixture);
  TerminalLeader leader(
      {"run", "jobs", "--", "sh", "-c", "echo yes >" + ready.string() + "; exec sleep 1000"},
      fixture);
  REQUIRE(line_from(ready) == "yes");
  leader.hang_up();
  CHECK(leader.wait_for_status() == 128 + SIGHUP);
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 0);
}

TEST_CASE("a job that ^Z stops for longer than its lease ends before a rival's begins",
          "[process][run][unsanitized][R9]") {
  ToolFixture fixture;
  const auto ready = fifo_of(fixture);
  const auto stamps = fixture.folder.path() / "stamps";
  // Part of it ignores ^Z, as a daemon would.
  const std::string stamp = "read up rest </proc/uptime; echo $up >>" + stamps.string() + "; ";
  const std::string daemon = "trap '' TSTP TERM; " + stamp + "echo yes >" + ready.string() +
                             "; while :; do " + stamp + "sleep 0.01; done";
  const TerminalJob job(
      {"run", "--takeover-after", "2s", "jobs", "--", "sh", "-c", "(" + daemon + ") & read line"},
      fixture);
  REQUIRE(line_from(ready) == "yes");
  job.type('\x1a');
  job.wait_until_stopped();
  REQUIRE(fixture.status({"run", "-w", "100s", "--takeover-after", "2s", "jobs", "--", "sh", "-c",
                          "read up rest </proc/uptime; echo $up"}) == 0);
  const double begun = std::stod(fixture.output);
  const double last = last_number_in(stamps);
  CHECK(last > 0);
  CHECK(last <= begun);  // In hundredths of a second.

  job.go_on();
  CHECK(job.wait_for_status() == 75);
  CHECK(last_number_in(stamps) == last);
}
