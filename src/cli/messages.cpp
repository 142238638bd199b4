#include "cli/messages.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>

#include "distlock/log.h"
#include "line_writer.h"
#include "write_line.h"

namespace distlock::cli {
namespace {

constexpr std::chrono::milliseconds kEndMost{1000};

/// Hands whole lines to a writer. Threads may share it.
class LineBuffer : public std::streambuf {
 public:
  explicit LineBuffer(LineWriter& writer) : writer_(writer) {}

 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return 0;
    const char added = traits_type::to_char_type(character);
    xsputn(&added, 1);
    return character;
  }

  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      take_in({text, static_cast<std::size_t>(size)});
    } catch (const std::exception&) {
      // Thrown on, it would silence the stream for good.
      line_.clear();
      writer_.drop();
    }
    return size;
  }

 private:
  void take_in(std::string_view text) {
    line_.append(text);
    for (auto end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
      writer_.add(LogLevel::info, line_.substr(0, end));
      line_.erase(0, end + 1);
    }
  }

  LineWriter& writer_;
  std::mutex mutex_;
  std::string line_;
};

struct Background {
  LineWriter writer{"distlock", [](LogLevel /*level*/, const std::string& line) {
                      write_line(STDERR_FILENO, line, -1);
                    }};
  LineBuffer cerr{writer};
  LineBuffer clog{writer};
};

// Never destroyed: a write that blocks goes on until the process ends.
Background& background() {
  static auto& only_one = *new Background;
  return only_one;
}

}  // namespace

BackgroundMessages::BackgroundMessages() {
  std::cerr.rdbuf(&background().cerr);
  std::clog.rdbuf(&background().clog);
}

BackgroundMessages::~BackgroundMessages() {
  (void)flush_log(kEndMost);
  (void)background().writer.flush(kEndMost);
}

}  // namespace distlock::cli
