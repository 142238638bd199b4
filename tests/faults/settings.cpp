#include "settings.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <vector>

#include "distlock/connection_string.h"

namespace faults {
namespace {

using Words = std::vector<std::string>;

const Words& numbers() {
  static const Words keys{"lease", "ping",     "call",     "hold", "rest",
                          "wait",  "poll_min", "poll_max", "seed"};
  return keys;
}

const std::map<std::string, Words>& choices() {
  static const std::map<std::string, Words> known{{"work", {"intervals", "hold", "counter"}},
                                                  {"guarded", {"true", "false"}},
                                                  {"witness", {"children", "none"}}};
  return known;
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_number(const std::string& text) {
  std::uint32_t value = 0;
  const char* const last = text.data() + text.size();
  const auto read = std::from_chars(text.data(), last, value);
  return read.ec == std::errc() && read.ptr == last;
}

std::string joined(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : ", ") + word;
  return line;
}

void check_value(const std::string& key, const std::string& value) {
  if (has(numbers(), key) && !is_number(value)) {
    const auto most = std::to_string(std::numeric_limits<std::uint32_t>::max());
    throw std::invalid_argument(key + "=" + value + ": a whole number from 0 to " + most +
                                " is needed");
  }
  const auto known = choices().find(key);
  if (known != choices().end() && !has(known->second, value))
    throw std::invalid_argument(key + "=" + value + ": known: " + joined(known->second));
}

}  // namespace

Settings::Settings(int argc, char** argv)
    : values_{{"name", ""},      {"store", ""},       {"lock", "lock"},   {"work", "intervals"},
              {"lease", "2000"}, {"ping", "250"},     {"call", "300"},    {"hold", "200"},
              {"rest", "50"},    {"wait", "1000"},    {"poll_min", "20"}, {"poll_max", "200"},
              {"seed", "1"},     {"guarded", "true"}, {"resource", ""},   {"witness", "children"}} {
  for (int i = 1; i < argc; ++i) take(argv[i]);
  if (text("name").empty() || text("store").empty())
    throw std::invalid_argument("name= and store= are needed");
  const distlock::ConnectionString store(text("store"));
  const bool has_numbers = store.kind() == distlock::StoreKind::sqlite;
  if (text("work") == "counter" && !has_numbers && text("resource").empty())
    throw std::invalid_argument("work=counter needs resource= if the store is not SQLite");
}

void Settings::take(const std::string& word) {
  const auto equals = word.find('=');
  const auto found = values_.find(word.substr(0, equals));
  if (equals == std::string::npos || found == values_.end()) {
    Words keys;
    for (const auto& [key, value] : values_) keys.push_back(key);
    // The value is left out, since it may hold a password.
    throw std::invalid_argument(word.substr(0, equals) +
                                ": not KEY=VALUE with a known key: " + joined(keys));
  }
  check_value(found->first, word.substr(equals + 1));
  found->second = word.substr(equals + 1);
}

}  // namespace faults
