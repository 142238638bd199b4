#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace faults {

/// KEY=VALUE words of the command line.
class Settings {
 public:
  Settings(int argc, char** argv);

  /// Errors: std::invalid_argument if it is needed and missing, or if nobody knows the key.
  std::string text(const std::string& key) const { return values_.at(key); }
  std::int64_t number(const std::string& key) const { return std::stoll(values_.at(key)); }
  std::chrono::milliseconds milliseconds(const std::string& key) const {
    return std::chrono::milliseconds{number(key)};
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace faults
