#include "settings.h"

#include <stdexcept>

namespace faults {

Settings::Settings(int argc, char** argv)
    : values_{{"name", ""},      {"store", ""},       {"lock", "lock"},   {"work", "intervals"},
              {"lease", "2000"}, {"ping", "250"},     {"call", "300"},    {"hold", "200"},
              {"rest", "50"},    {"wait", "1000"},    {"poll_min", "20"}, {"poll_max", "200"},
              {"seed", "1"},     {"guarded", "true"}, {"resource", ""}} {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    const auto known = values_.find(word.substr(0, equals));
    if (equals == std::string::npos || known == values_.end())
      throw std::invalid_argument("not KEY=VALUE with a known key: " + word);
    known->second = word.substr(equals + 1);
  }
  if (text("name").empty() || text("store").empty())
    throw std::invalid_argument("name= and store= are needed");
}

}  // namespace faults
