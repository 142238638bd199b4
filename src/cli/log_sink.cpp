#include "cli/log_sink.h"

#include <boost/log/attributes/value_extraction.hpp>
#include <boost/log/core.hpp>
#include <boost/log/expressions/message.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/log/trivial.hpp>
#include <boost/log/utility/formatting_ostream.hpp>
#include <boost/make_shared.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "distlock/clock.h"
#include "repeats.h"

namespace distlock::cli {
namespace {

namespace log = boost::log;

// Lines on the standard error stream. The frontend feeds it one at a time.
class Lines : public log::sinks::basic_formatted_sink_backend<char> {
 public:
  explicit Lines(bool each_repeat) : each_repeat_(each_repeat) {}

  void consume(const log::record_view& /*record*/, const string_type& line) {
    const std::optional<std::string> written =
        each_repeat_ ? line : repeats_.to_write(line, clock_->steady_now());
    if (written) std::clog << *written << '\n' << std::flush;
  }

 private:
  bool each_repeat_;
  Repeats repeats_;
  std::shared_ptr<Clock> clock_ = host_clock();
};

}  // namespace

void add_log_sink(Verbosity verbosity) {
  if (verbosity == Verbosity::quiet) {
    log::core::get()->set_logging_enabled(false);
    return;
  }
  const bool verbose = verbosity == Verbosity::verbose;
  const auto sink =
      boost::make_shared<log::sinks::synchronous_sink<Lines>>(boost::make_shared<Lines>(verbose));
  const log::trivial::severity_level least = verbose ? log::trivial::debug : log::trivial::warning;
  sink->set_filter([least](const log::attribute_value_set& values) {
    const auto channel = log::extract<std::string>("Channel", values);
    const auto severity = log::extract<log::trivial::severity_level>("Severity", values);
    return channel && *channel == "distlock" && severity && *severity >= least;
  });
  sink->set_formatter([](const log::record_view& record, log::formatting_ostream& stream) {
    stream << "distlock: " << record[log::expressions::smessage];
  });
  log::core::get()->add_sink(sink);
}

}  // namespace distlock::cli
