#include "cli/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "cli/event.h"
#include "cli/exit_status.h"
#include "cli/secrets.h"

namespace distlock::cli {
namespace {

[[noreturn]] void fail(const char* operation) {
  throw std::system_error(errno, std::generic_category(), operation);
}

bool on_terminal() { return isatty(0) != 0 || isatty(1) != 0 || isatty(2) != 0; }

/// Strings, and the array of pointers to them that exec wants.
class PointerArray {
 public:
  explicit PointerArray(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (std::string& text : strings_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  PointerArray(const PointerArray&) = delete;
  PointerArray& operator=(const PointerArray&) = delete;

  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

std::vector<std::string> environment_with(const Command& command) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(command.environment.begin(), command.environment.end(),
                                      [&](const auto& added) { return added.first == name; });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) {
    result.emplace_back(name).append("=").append(value);
  }
  return result;
}

/// All that the child needs between fork and exec, made before: there it may allocate nothing,
/// since another thread may have held the heap's lock when it was forked.
struct Start {
  char** words;
  char** environment;
  const sigset_t* mask;
  bool leads_group;
  int report;  ///< Gets errno if exec fails.
  const Keeper* keeper;
  std::chrono::nanoseconds kernel_ahead;
  const Event* signalled;  ///< Set when it has been sent the earlier signals.
  pid_t parent;
};

[[noreturn]] void become(const Start& start) {
  if (start.leads_group) setpgid(0, 0);
  enlist_with_keeper(start.keeper->descriptor(), start.leads_group ? getpid() : 0);
  // SIGKILL: a command that outlives its lock's holder would run unguarded after a takeover.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(kSignalled + SIGKILL);  // It died before the line above.
  start.signalled->clear();
  restore_dispositions();
  // The memory is still the tool's, with its passwords. The exec lifts that again.
  prctl(PR_SET_DUMPABLE, 0);
  restore_core_files();
  sigprocmask(SIG_SETMASK, start.mask, nullptr);
  // This process or its parent may have been stopped since the parent looked.
  if (start.keeper->time_is_over(start.kernel_ahead)) _exit(kSignalled + SIGKILL);
  // Not on POSIX's list of what is safe here, but glibc's allocates nothing.
  execvpe(start.words[0], start.words, start.environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(start.report, &error, sizeof error);
  _exit(error == ENOENT ? kNotFound : kNotExecutable);
}

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) {
    return {.exit_status = kSignalled + WTERMSIG(status), .by_signal = WTERMSIG(status)};
  }
  return {.exit_status = WEXITSTATUS(status)};
}

int wait_for(pid_t id, int options, int* status) {
  int result = -1;
  do {
    result = waitpid(id, status, options);
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

ChildProcess::ChildProcess(const Command& command, const Signals& signals, const Keeper& keeper)
    : keeper_(keeper.process()), leads_group_(!on_terminal()) {
  PointerArray words(command.words);
  PointerArray environment(environment_with(command));
  const Event signalled;
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail("pipe2");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Start start{.words = words.get(),
                    .environment = environment.get(),
                    .mask = &signals.mask_before(),
                    .leads_group = leads_group_,
                    .report = report[1],
                    .keeper = &keeper,
                    .kernel_ahead = Keeper::kernel_ahead(),
                    .signalled = &signalled,
                    .parent = getpid()};
  id_ = fork();
  if (id_ == 0) become(start);
  const int fork_error = errno;
  close(report[1]);
  if (id_ < 0) {
    close(report[0]);
    errno = fork_error;
    fail("fork");
  }
  // Here too, so that the group exists before the first signal is sent to it.
  if (leads_group_) setpgid(id_, id_);
  pass_on_earlier(signals);
  signalled.set();
  report_ = report[0];
}

ChildProcess::~ChildProcess() {
  close(report_);
  if (ending_) return;
  send(SIGKILL);
  wait_for(id_, 0, nullptr);
}

// A signal that came before the fork has not reached the child, also if a terminal sent it to the
// group. A later one has, and is still pending there: the second becomes one with it.
void ChildProcess::pass_on_earlier(const Signals& signals) const {
  while (const auto signal = signals.next()) {
    if (signal->number != SIGCHLD) send(signal->number);
  }
}

// The number of a group is given to no other one as long as a child of ours is in it. Needs no
// /proc.
bool ChildProcess::has_group() const {
  if (!leads_group_) return false;
  siginfo_t member{};
  return !ending_ ||
         waitid(P_PGID, static_cast<id_t>(id_), &member, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool ChildProcess::is_in_our_group() const {
  return !leads_group_ && !ending_ && getpgid(id_) == getpgrp();
}

void ChildProcess::send(int signal) const {
  if (has_group()) kill(-id_, signal);
  // Until it is reaped its id cannot be given to another process.
  if (!ending_ && (!leads_group_ || getpgid(id_) != id_)) kill(id_, signal);
}

void ChildProcess::send_to_all(int signal) {
  // The command and its group at once, also where /proc does not show them, then all others.
  const bool group = has_group();
  send(signal);
  for (const pid_t id : descendants_of(getpid(), keeper_)) {
    const bool has_it = (!ending_ && id == id_) || (group && getpgid(id) == id_);
    if (!has_it) kill(id, signal);
  }
  killed_ = killed_ || signal == SIGKILL;
}

std::optional<Ending> ChildProcess::ended() {
  reap();
  if (ending_) check_started();
  return ending_;
}

// Orphans of the command as well, which have become our children. False: no child has ended.
bool ChildProcess::reap() {
  bool reaped = false;
  int status = 0;
  for (int id = wait_for(-1, WNOHANG, &status); id > 0; id = wait_for(-1, WNOHANG, &status)) {
    reaped = true;
    if (id == id_) ending_ = ending_of(status);
  }
  return reaped;
}

// Not before its end: an exec may take long, on a network's file system say, and all that time
// signals and deadlines count.
void ChildProcess::check_started() const {
  int error = 0;
  if (read(report_, &error, sizeof error) == sizeof error) throw StartFailure{error};
}

bool ChildProcess::sees_something(const LookForDescendants& look) const {
  const Descendants left = look(getpid(), keeper_);
  if (std::any_of(left.running.begin(), left.running.end(),
                  [](pid_t id) { return kill(id, 0) == 0; })) {
    return true;
  }
  return !left.all && (!killed_ || (has_group() && kill(-id_, 0) == 0));
}

// A child that ended during a look may have forked another that the look has missed. If none has
// ended, the look has seen each child, and without children nothing descends from us.
bool ChildProcess::left_something(const LookForDescendants& look) {
  do {
    if (sees_something(look)) return true;
  } while (reap());
  return false;
}

}  // namespace distlock::cli
