#include "line_writer.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "support/asleep.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// The lines that a reader has read, which begins once its gate is open.
struct Read {
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  std::promise<void> first;
  std::mutex mutex;  // of what is below
  std::vector<std::string> lines;
  std::thread::id thread;

  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex);
    return lines;
  }
};

struct Reader {
  std::shared_ptr<Read> read = std::make_shared<Read>();
  std::optional<LineWriter> writer{std::in_place, "reader",
                                   [read = read](LogLevel /*level*/, const std::string& line) {
                                     if (read->seen().empty()) read->first.set_value();
                                     read->open.wait();
                                     const std::lock_guard lock(read->mutex);
                                     read->lines.push_back(line);
                                     read->thread = std::this_thread::get_id();
                                   }};

  void add(const std::string& line) { writer->add(LogLevel::info, line); }
};

}  // namespace

TEST_CASE("a line is written on the writer's thread, and after its end by whoever adds it",
          "[log][threads]") {
  Reader reader;
  reader.read->gate.set_value();
  reader.add("a");
  CHECK(reader.writer->end(1min));
  CHECK(reader.read->thread != std::this_thread::get_id());
  reader.add("b");
  CHECK(reader.read->seen() == std::vector<std::string>{"a", "b"});
  CHECK(reader.read->thread == std::this_thread::get_id());
  CHECK(reader.writer->flush(0ms));
}

TEST_CASE("a writer's thread takes none of the program's signals", "[log][threads]") {
  sigset_t blocked;
  LineWriter writer("speaker", [&](LogLevel, const std::string&) {
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  });
  writer.add(LogLevel::info, "a");
  REQUIRE(writer.end(1min));
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGALRM}) {
    CHECK(sigismember(&blocked, signal) == 1);
  }
}

TEST_CASE("an end that waits in vain gives up all but the line that is being written",
          "[log][threads]") {
  Reader reader;
  reader.add("a");
  reader.add("b");
  reader.read->first.get_future().wait();
  CHECK_FALSE(reader.writer->flush(1ms));
  CHECK_FALSE(reader.writer->end(1ms));
  reader.add("c");
  reader.writer.reset();
  reader.read->gate.set_value();
  // The thread lets go of it when it ends.
  while (reader.read.use_count() > 1) boost::this_thread::yield();
  CHECK(reader.read->seen() == std::vector<std::string>{"a"});
}

TEST_CASE("lines that were written make room for others, however many they were",
          "[log][threads]") {
  std::atomic<int> written = 0;
  LineWriter writer("counter", [&](LogLevel, const std::string&) { ++written; });
  constexpr int kLines = 50'000;
  for (int i = 1; i <= kLines; ++i) {
    writer.add(LogLevel::info, "x");
    if (i % 1000 == 0) REQUIRE(writer.flush(1min));
  }
  CHECK(written == kLines);
}

TEST_CASE("a flush waits for the number of lines that were dropped", "[log][threads]") {
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> told = false;
    LineWriter writer("speaker", [&](LogLevel, const std::string& line) {
      if (line.find("speaker: 1 lines were dropped") != line.npos) told = true;
    });
    writer.drop();
    REQUIRE(writer.flush(1min));
    REQUIRE(told);
    REQUIRE(writer.end(1min));
  }
}

TEST_CASE("a line that cannot be written counts as dropped", "[log][threads]") {
  std::atomic<int> tried = 0;
  std::promise<void> told;
  LineWriter writer("speaker", [&](LogLevel, const std::string& line) {
    if (++tried == 1) throw std::bad_alloc();
    if (line.find("speaker: 1 lines were dropped") != line.npos) told.set_value();
  });
  writer.add(LogLevel::info, "a");
  CHECK(told.get_future().wait_for(1min) == std::future_status::ready);
  CHECK(writer.end(1min));
  CHECK(tried == 2);
}

TEST_CASE("a reader that has gone ends no program that writes a line by itself", "[log][R12]") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  close(ends[0]);
  auto* const before = std::signal(SIGPIPE, SIG_DFL);
  int error = 0;
  LineWriter writer("speaker", [&](LogLevel, const std::string& line) {
    error = write(ends[1], line.data(), line.size()) < 0 ? errno : 0;
  });
  CHECK(writer.end(1min));
  writer.add(LogLevel::info, "a");
  CHECK(error == EPIPE);
  sigset_t pending;
  CHECK(sigpending(&pending) == 0);
  CHECK(sigismember(&pending, SIGPIPE) == 0);
  std::signal(SIGPIPE, before);
  close(ends[1]);
}

TEST_CASE("while a writer holds still nothing is written", "[log][R16][threads]") {
  Reader reader;
  reader.add("a");
  reader.read->first.get_future().wait();
  auto opened = std::async(std::launch::async, [&] { reader.read->gate.set_value(); });
  reader.writer->hold_still(1min);
  CHECK(reader.read->seen() == std::vector<std::string>{"a"});
  auto added = std::async(std::launch::async, [&] { reader.add("b"); });
  CHECK(reader.read->seen() == std::vector<std::string>{"a"});
  reader.writer->go_on();
  added.wait();
  CHECK(reader.writer->flush(1min));
  CHECK(reader.read->seen() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a writer that two threads hold still writes nothing between the two",
          "[log][R16][threads]") {
  Reader reader;
  reader.add("a");
  reader.read->first.get_future().wait();
  reader.add("b");
  std::array<std::promise<pid_t>, 2> numbers;
  const auto hold = [&reader](std::promise<pid_t>& number) {
    number.set_value(gettid());
    reader.writer->hold_still(1min);
    const auto seen = reader.read->seen();
    reader.writer->go_on();
    return seen;
  };
  std::array<std::future<std::vector<std::string>>, 2> seen;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i] = std::async(std::launch::async, hold, std::ref(numbers[i]));
    const pid_t thread = numbers[i].get_future().get();
    await_sleep(thread);
  }
  reader.read->gate.set_value();
  for (auto& one : seen) CHECK(one.get() == std::vector<std::string>{"a"});
  CHECK(reader.writer->flush(1min));
}

TEST_CASE("a write that blocks holds up a fork for a bounded time", "[log][R16][threads]") {
  Reader reader;
  reader.add("a");
  reader.read->first.get_future().wait();
  reader.writer->hold_still(1ms);
  CHECK(reader.read->seen().empty());
  reader.writer->go_on();
  reader.read->gate.set_value();
  CHECK(reader.writer->flush(1min));
}

TEST_CASE("an end does not wait longer for the last line than it may", "[log][R12][threads]") {
  Reader reader;
  reader.add("a");
  reader.read->first.get_future().wait();
  auto ended = std::async(std::launch::async, [&] { return reader.writer->end(1ms); });
  // An end that waits for the write itself would hang.
  ended.wait_for(1min);
  reader.read->gate.set_value();
  CHECK_FALSE(ended.get());
}

TEST_CASE("after the end a thread that holds a writer still is before the line of another",
          "[log][R16][threads]") {
  Reader reader;
  CHECK(reader.writer->end(1min));
  auto first = std::async(std::launch::async, [&] { reader.add("a"); });
  reader.read->first.get_future().wait();
  std::promise<pid_t> number;
  auto held = std::async(std::launch::async, [&] {
    number.set_value(gettid());
    reader.writer->hold_still(1min);
    const auto seen = reader.read->seen();
    reader.writer->go_on();
    return seen;
  });
  const pid_t thread = number.get_future().get();
  await_sleep(thread);
  // It is left to the first thread, after a while.
  reader.add("b");
  reader.read->gate.set_value();
  CHECK(held.get() == std::vector<std::string>{"a"});
  first.wait();
  reader.add("c");
  CHECK(reader.read->seen() == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a program's own SIGPIPE still waits for it after a line that its thread has written",
          "[log][R12]") {
  sigset_t pipe_signal;
  sigset_t before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &pipe_signal, &before) == 0);
  REQUIRE(raise(SIGPIPE) == 0);
  LineWriter writer("speaker", [](LogLevel, const std::string&) {});
  CHECK(writer.end(1min));
  writer.add(LogLevel::info, "a");
  const timespec none{};
  CHECK(sigtimedwait(&pipe_signal, nullptr, &none) == SIGPIPE);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
