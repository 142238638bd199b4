#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace faults {

/// KEY=VALUE words of the command line.
class Settings {
 public:
  /// Errors: std::invalid_argument or distlock::Error, which say what is wrong with them: a key or
  /// value that nobody knows, one that is needed and missing.
  Settings(int argc, char** argv);

  std::string text(const std::string& key) const { return values_.at(key); }
  std::int64_t number(const std::string& key) const { return std::stoll(values_.at(key)); }
  std::chrono::milliseconds milliseconds(const std::string& key) const {
    return std::chrono::milliseconds{number(key)};
  }

 private:
  void take(const std::string& word);

  std::map<std::string, std::string> values_;
};

}  // namespace faults
