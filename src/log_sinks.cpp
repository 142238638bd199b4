#include "log_sinks.h"

#include <unistd.h>

#include <boost/log/attributes/attribute_set.hpp>
#include <boost/log/attributes/attribute_value_impl.hpp>
#include <boost/log/attributes/constant.hpp>
#include <boost/log/core.hpp>
#include <boost/log/sinks/sink.hpp>
#include <boost/log/trivial.hpp>
#include <boost/make_shared.hpp>
#include <boost/thread/thread.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "distlock/clock.h"
#include "repeats.h"
#include "write_line.h"

namespace distlock::log {
namespace {

using boost::log::trivial::severity_level;
using Core = boost::shared_ptr<boost::log::core>;

// At the end of a program its own thread may write.
constexpr int kReaderMostMs = 1000;

// Whether this thread asks what the program's own sinks want.
thread_local bool asking = false;

/// Boost.Log does not tell whether it has a sink, and prints to standard output while it has none.
/// A sink that takes nothing, there for a moment, keeps that from happening: a record that opens
/// then is wanted by a sink of the program's.
///
/// Records that other threads open in that moment must not get lost. It takes them, and gives them
/// to Boost.Log again if nobody else has wanted them.
class StandIn : public boost::log::sinks::sink {
 public:
  explicit StandIn(Core core) : sink(false), core_(std::move(core)) {}

  /// The record that `open` gives, but nothing if only Boost.Log's own printing wants it.
  template <class Open>
  boost::log::record wanted_by_the_program(const boost::shared_ptr<sink>& self, const Open& open) {
    const std::lock_guard<std::mutex> one_at_a_time(mutex_);
    const Moment moment(*core_, self);
    return open();
  }

  bool will_consume(const boost::log::attribute_value_set& /*values*/) override { return !asking; }

  void consume(const boost::log::record_view& record) override;

  void flush() override {}

 private:
  struct Moment {
    Moment(boost::log::core& of, const boost::shared_ptr<sink>& stand_in)
        : core(of), self(stand_in) {
      asking = true;
      core.add_sink(self);
    }
    ~Moment() {
      core.remove_sink(self);
      asking = false;
    }
    Moment(const Moment&) = delete;
    Moment& operator=(const Moment&) = delete;

    boost::log::core& core;
    const boost::shared_ptr<sink>& self;
  };

  Core core_;
  std::mutex mutex_;
};

/// All that is used of Boost.Log. Its loggers and streams would make static objects with their
/// first record, which the end of the program destroys before the last one is written.
struct Sinks {
  Core core = boost::log::core::get();
  boost::shared_ptr<StandIn> stand_in = boost::make_shared<StandIn>(core);
  const boost::log::attribute_name channel{"Channel"};
  const boost::log::attribute_name severity{"Severity"};
  const boost::log::attribute_name message{"Message"};
};

// Never destroyed: locks that are static objects log while the program ends.
Sinks& sinks() {
  static auto& used = *new Sinks;
  return used;
}

// A child that is forked while another thread makes them would wait for that for ever. Also, the
// parts of Boost.Log that the end of the program destroys outlive the log's thread.
[[maybe_unused]] const Sinks* const kSinksAtLoad = &sinks();

void StandIn::consume(const boost::log::record_view& record) {
  const boost::log::attribute_value_set& values = record.attribute_values();
  const auto open = [&] { return core_->open_record(values); };
  if (wanted_by_the_program(sinks().stand_in, open)) return;
  if (boost::log::record again = open()) core_->push_record(std::move(again));
}

severity_level severity_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return severity_level::debug;
    case LogLevel::info:
      return severity_level::info;
    case LogLevel::warning:
      return severity_level::warning;
    case LogLevel::error:
    case LogLevel::off:
      break;
  }
  return severity_level::error;
}

// Never destroyed: as sinks().
std::optional<std::string> summed_up(const std::string& line) {
  static auto& repeats = *new Repeats;
  return repeats.to_write(line, host_clock()->steady_now());
}

void write_to_stderr(LogLevel level, const std::string& text) {
  const auto line = summed_up(std::string("distlock ") +
                              boost::log::trivial::to_string(severity_of(level)) + ": " + text);
  if (line) write_line(STDERR_FILENO, *line, kReaderMostMs);
}

boost::log::attribute_set attributes_of(const Sinks& to, LogLevel level) {
  boost::log::attribute_set attributes;
  attributes[to.channel] = boost::log::attributes::constant<std::string>("distlock");
  attributes[to.severity] = boost::log::attributes::constant<severity_level>(severity_of(level));
  return attributes;
}

void push(Sinks& to, boost::log::record record, const std::string& text) {
  record.attribute_values().insert(to.message, boost::log::attributes::make_attribute_value(text));
  to.core->push_record(std::move(record));
}

}  // namespace

void write_to_sinks(LogLevel level, const std::string& text, LogLevel least_on_stderr) noexcept {
  // A sink of the program's may throw anything. That must not cost a lock.
  try {
    // Where a sink waits, an interruption would come out. It stays for the program's own waits.
    const boost::this_thread::disable_interruption no_interruption;
    Sinks& to = sinks();
    const auto attributes = attributes_of(to, level);
    const auto open = [&] { return to.core->open_record(attributes); };
    if (!to.core->get_logging_enabled()) return;
    boost::log::record record = to.stand_in->wanted_by_the_program(to.stand_in, open);
    if (record) return push(to, std::move(record), text);
    // A record that opens without the stand-in would be printed to standard output.
    if (level >= least_on_stderr && open()) write_to_stderr(level, text);
  } catch (...) {
  }
}

}  // namespace distlock::log
