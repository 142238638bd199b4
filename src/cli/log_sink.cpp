#include "cli/log_sink.h"

#include <boost/core/null_deleter.hpp>
#include <boost/log/attributes/value_extraction.hpp>
#include <boost/log/core.hpp>
#include <boost/log/expressions/message.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/log/sinks/text_ostream_backend.hpp>
#include <boost/log/trivial.hpp>
#include <boost/log/utility/formatting_ostream.hpp>
#include <boost/make_shared.hpp>
#include <iostream>
#include <string>

namespace distlock::cli {

void add_log_sink(Verbosity verbosity) {
  namespace log = boost::log;
  if (verbosity == Verbosity::quiet) {
    log::core::get()->set_logging_enabled(false);
    return;
  }
  using Backend = log::sinks::text_ostream_backend;
  const auto backend = boost::make_shared<Backend>();
  backend->add_stream(boost::shared_ptr<std::ostream>(&std::clog, boost::null_deleter()));
  backend->auto_flush(true);
  const auto sink = boost::make_shared<log::sinks::synchronous_sink<Backend>>(backend);
  const log::trivial::severity_level least =
      verbosity == Verbosity::verbose ? log::trivial::debug : log::trivial::warning;
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
