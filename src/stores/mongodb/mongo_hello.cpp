#include "stores/mongodb/mongo_hello.h"

#include <array>
#include <cstdint>

#include "stores/mongodb/mongo_documents.h"

namespace distlock {

std::string clock_of(const bson_t* hello, std::string_view address) {
  const auto process = find(hello, "topologyVersion.processId");
  if (process && BSON_ITER_HOLDS_OID(&*process)) {
    std::array<char, 25> hex{};
    bson_oid_to_string(bson_iter_oid(&*process), hex.data());
    return std::string("mongod:") + hex.data();
  }
  // MongoDB 4.2 does not name its process. A member of a set knows its address, at least.
  const auto me = find(hello, "me");
  const bool knows_itself = me && BSON_ITER_HOLDS_UTF8(&*me);
  return "mongod:" + (knows_itself ? bson_iter_utf8(&*me, nullptr) : std::string(address));
}

std::string set_of(const bson_t* hello) {
  const auto name = find(hello, "setName");
  return name && BSON_ITER_HOLDS_UTF8(&*name) ? bson_iter_utf8(&*name, nullptr) : "";
}

bool updates_by_pipeline(const bson_t* hello) {
  constexpr std::int64_t kWireVersion42 = 8;
  const auto version = find(hello, "maxWireVersion");
  return version && bson_iter_as_int64(&*version) >= kWireVersion42;
}

}  // namespace distlock
