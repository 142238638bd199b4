#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/view.h"
#include "cli/view_json.h"
#include "cli/view_text.h"
#include "stores/memory/memory_store.h"
#include "support/manual_clock.h"

namespace distlock::cli::testing {

using How = Takeover::How;

inline constexpr Token kToken{{0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};

/// A store in which other programs may have written anything.
class Scene {
 public:
  StoreTime now() { return store_.store->list().now.time; }

  void hold(const std::string& name, const std::string& process,
            std::optional<std::int64_t> takeover_after = 2000, LockState state = LockState::taken,
            const std::string& thread = ":main:1") {
    Document document{{"_id", name},
                      {"state", static_cast<std::int32_t>(state)},
                      {"process", process},
                      {"who", process + thread},
                      {"why", std::string("testing")},
                      {"when", now() - std::chrono::seconds{61}},
                      {"ts", kToken},
                      {"fence", std::int64_t{7}}};
    if (takeover_after) document.emplace_back("takeover_after", *takeover_after);
    store_.tables.put_lock(document);
  }

  void ping(const std::string& process, std::chrono::milliseconds age,
            const std::optional<std::string>& by = "memory") {
    Document document{{"_id", process}, {"ping", now() - age}};
    if (by) document.emplace_back("clock", *by);
    store_.tables.put_ping(document);
  }

  Store& store() { return *store_.store; }
  MemoryTables& tables() { return store_.tables; }

  View all(std::optional<std::chrono::milliseconds> takeover_after = {}) {
    return all_by(takeover_after ? std::optional(ContenderWindow{*takeover_after, {}})
                                 : std::nullopt);
  }
  View all_by(const std::optional<ContenderWindow>& window) {
    return view_all({*store_.store, *clock_, connection_, window});
  }
  View one(const std::string& name) {
    return view_one({*store_.store, *clock_, connection_, {}}, name);
  }

 private:
  std::shared_ptr<distlock::testing::ManualClock> clock_ =
      std::make_shared<distlock::testing::ManualClock>();
  OpenedMemoryStore store_ = open_memory_store(clock_, {});
  ConnectionString connection_{"memory:"};
};

inline std::string listed(const View& view) {
  std::ostringstream out;
  print_list(out, view, {.verbose = true});
  return out.str();
}

inline nlohmann::json as_json(const View& view) {
  std::ostringstream out;
  print_json(out, view);
  return nlohmann::json::parse(out.str());
}

}  // namespace distlock::cli::testing
