#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/view_json.h"
#include "cli/view_text.h"
#include "text.h"

// With any content of a store, the output of --json is JSON, and says the same.

using namespace distlock;
using namespace distlock::cli;
using nlohmann::json;

namespace {

std::string word(FuzzedDataProvider& input) { return input.ConsumeRandomLengthString(64); }

template <class Make>
auto maybe(FuzzedDataProvider& input, const Make& make) -> std::optional<decltype(make())> {
  if (!input.ConsumeBool()) return std::nullopt;
  return make();
}

StoreTime time_in(FuzzedDataProvider& input) {
  return StoreTime{std::chrono::milliseconds{input.ConsumeIntegral<std::int64_t>()}};
}

std::chrono::milliseconds duration_in(FuzzedDataProvider& input) {
  return std::chrono::milliseconds{input.ConsumeIntegral<std::int64_t>()};
}

Token token_in(FuzzedDataProvider& input) {
  Token token{};
  input.ConsumeData(token.bytes.data(), token.bytes.size());
  return token;
}

PingRecord ping_in(FuzzedDataProvider& input) {
  PingRecord ping{word(input), time_in(input), maybe(input, [&] { return word(input); })};
  if (input.ConsumeBool()) {
    ping.health =
        PingHealth{input.ConsumeIntegral<std::int64_t>(), input.ConsumeIntegral<std::int64_t>(),
                   duration_in(input), duration_in(input)};
  }
  return ping;
}

LockRecord lock_in(FuzzedDataProvider& input, const std::string& name) {
  return {.name = name,
          .state = static_cast<LockState>(input.ConsumeIntegralInRange(0, 2)),
          .process = word(input),
          .who = word(input),
          .why = word(input),
          .when = maybe(input, [&] { return time_in(input); }),
          .ts = maybe(input, [&] { return token_in(input); }),
          .fence = input.ConsumeIntegral<std::int64_t>(),
          .takeover_after = maybe(input, [&] { return duration_in(input); })};
}

View view_in(FuzzedDataProvider& input) {
  View view{.store = word(input), .now = {}, .locks = {}, .pings = {}};
  view.now = maybe(input, [&] { return StoreNow{time_in(input), word(input), true}; });
  LockView lock{.name = word(input),
                .record = {},
                .problem = word(input),
                .ping = {},
                .takeover = {},
                .by_own_window = {}};
  lock.record = maybe(input, [&] { return lock_in(input, lock.name); });
  lock.named = lock.record || input.ConsumeBool();
  lock.ping = maybe(input, [&] { return ping_in(input); });
  lock.takeover = {static_cast<Takeover::How>(input.ConsumeIntegralInRange(0, 6)),
                   duration_in(input), duration_in(input)};
  view.locks.push_back(lock);
  PingView ping{.process = word(input), .record = {}, .problem = word(input), .holds = 1};
  ping.record = maybe(input, [&] { return ping_in(input); });
  view.pings.push_back(ping);
  return view;
}

void expect(bool holds) {
  if (!holds) std::abort();
}

// Bytes that are no text are shown as text.
void expect_text(const json& shown, const std::string& stored) {
  expect(shown == (is_utf8(stored) ? stored : escaped(stored)));
}

void expect_lock(const json& shown, const LockView& lock) {
  lock.named ? expect_text(shown["name"], lock.name) : expect(shown["name"].is_null());
  if (!lock.record) return expect_text(shown["problem"], lock.problem);
  const LockRecord& record = *lock.record;
  expect_text(shown["process"], record.process);
  expect_text(shown["who"], record.who);
  expect_text(shown["why"], record.why);
  expect(shown["fence"] == record.fence);
  expect(record.ts ? shown["ts"] == to_hex(*record.ts) : shown["ts"].is_null());
  expect(record.when ? shown["when_ms"] == record.when->time_since_epoch().count()
                     : shown["when_ms"].is_null());
  expect(record.takeover_after ? shown["takeover_after_ms"] == record.takeover_after->count()
                               : shown["takeover_after_ms"].is_null());
  if (!lock.ping) return expect(shown["ping"].is_null());
  expect(shown["ping"]["ping_ms"] == lock.ping->ping.time_since_epoch().count());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  const View view = view_in(input);
  std::ostringstream out;
  print_json(out, view);
  const json shown = json::parse(out.str());
  expect_text(shown["store"], view.store);
  expect_lock(shown["locks"][0], view.locks[0]);
  const json& ping = shown["pings"][0];
  expect_text(ping["process"], view.pings[0].process);
  if (!view.pings[0].record) expect_text(ping["problem"], view.pings[0].problem);
  return 0;
}
