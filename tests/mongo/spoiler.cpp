#include "mongo/spoiler.h"

#include <string>
#include <vector>

#include "mongo/server.h"

namespace distlock::testing {
namespace {

Bson odd_value(std::mt19937_64& random) {
  static const std::vector<std::string> kValues{"0",
                                                "1",
                                                "-1",
                                                "0.0",
                                                R"({"$numberDouble": "NaN"})",
                                                R"({"$numberLong": "4294967296"})",
                                                R"({"$numberDecimal": "1"})",
                                                "true",
                                                "false",
                                                "null",
                                                R"("")",
                                                R"("x")",
                                                "{}",
                                                "[]",
                                                R"([0])",
                                                R"([{}])",
                                                R"({"x": 1})",
                                                R"({"code": 0})",
                                                R"({"$oid": "4d7f00000000000000000000"})",
                                                R"({"$date": {"$numberLong": "0"}})",
                                                R"({"$timestamp": {"t": 0, "i": 0}})",
                                                R"({"$binary": {"base64": "", "subType": "00"}})",
                                                R"({"$minKey": 1})",
                                                R"({"$undefined": true})",
                                                R"({"$code": "x", "$scope": {}})"};
  return json(R"({"v": )" + kValues[random() % kValues.size()] + "}");
}

std::size_t parts_of(const bson_iter_t& around) {
  std::size_t count = 0;
  bson_iter_t iter = around;
  while (bson_iter_next(&iter)) {
    ++count;
    bson_iter_t inner;
    if ((BSON_ITER_HOLDS_DOCUMENT(&iter) || BSON_ITER_HOLDS_ARRAY(&iter)) &&
        bson_iter_recurse(&iter, &inner))
      count += parts_of(inner);
  }
  return count;
}

enum class Act { replace, remove, double_it };

struct Spoiler {
  std::size_t at;  // counted down to the part that is meant
  Act act;
  Bson value;

  // A copy of what `around` goes through, with that part spoilt.
  void copy(const bson_iter_t& around, bson_t* to) {
    bson_iter_t from = around;
    while (bson_iter_next(&from)) {
      const char* key = bson_iter_key(&from);
      if (at-- == 0) {
        spoil(from, key, to);
      } else if (bson_iter_t inner;
                 (BSON_ITER_HOLDS_DOCUMENT(&from) || BSON_ITER_HOLDS_ARRAY(&from)) &&
                 bson_iter_recurse(&from, &inner)) {
        bson_t child;
        const bool is_array = BSON_ITER_HOLDS_ARRAY(&from);
        is_array ? bson_append_array_begin(to, key, -1, &child)
                 : bson_append_document_begin(to, key, -1, &child);
        copy(inner, &child);
        is_array ? bson_append_array_end(to, &child) : bson_append_document_end(to, &child);
      } else {
        bson_append_iter(to, key, -1, &from);
      }
    }
  }

  void spoil(const bson_iter_t& from, const char* key, bson_t* to) const {
    if (act == Act::double_it) bson_append_iter(to, key, -1, &from);
    if (act == Act::remove) return;
    bson_iter_t instead;
    bson_iter_init_find(&instead, value.get(), "v");
    bson_append_iter(to, key, -1, &instead);
  }
};

}  // namespace

Bson spoilt(const Bson& sound, std::mt19937_64& random) {
  bson_iter_t all;
  bson_iter_init(&all, sound.get());
  Spoiler spoiler{random() % parts_of(all), static_cast<Act>(random() % 3), odd_value(random)};
  Bson copy;
  spoiler.copy(all, copy.get());
  return copy;
}

}  // namespace distlock::testing
