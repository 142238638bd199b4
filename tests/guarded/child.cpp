#include "guarded/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace distlock::testing {

Child::Child(std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe2");
  id_ = fork();
  if (id_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execv(words[0], words.data());
    _exit(127);
  }
  close(ends[1]);
  descriptor_ = ends[0];
  if (id_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
}

Child::~Child() {
  kill();
  close(descriptor_);
}

void Child::wait_stopped() {
  int status = 0;
  if (waitpid(id_, &status, WUNTRACED) != id_)
    throw std::system_error(errno, std::generic_category(), "waitpid");
  if (WIFSTOPPED(status)) return;
  ended_ = true;
  throw std::runtime_error("it ended without being stopped: " + output());
}

void Child::resume() const { ::kill(id_, SIGCONT); }

void Child::kill() {
  if (ended_ || id_ < 0) return;
  ::kill(id_, SIGKILL);
  waitpid(id_, nullptr, 0);
  ended_ = true;
}

std::string Child::output() {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = read(descriptor_, part.data(), part.size())) > 0)
    text.append(part.data(), static_cast<std::size_t>(got));
  if (!ended_) waitpid(id_, nullptr, 0);
  ended_ = true;
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace distlock::testing
