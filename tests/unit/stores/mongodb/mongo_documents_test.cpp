#include "stores/mongodb/mongo_documents.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

#include "distlock/error.h"
#include "stores/mongodb/mongo_bson.h"
#include "stores/mongodb/mongo_call.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace std::string_literals;

TEST_CASE("a document is read with its fields in order and its types kept", "[mongo][R14]") {
  const Token ts = *token_from_hex("4d7f000000000000000000aa");
  const Bson bson = doc({{"_id", "jobs"},
                         {"state", 1},
                         {"fence", std::int64_t{7}},
                         {"load", 1.5},
                         {"when", StoreTime{-1ms}},
                         {"ts", ts},
                         {"tags", array({"a"})},
                         {"more", doc({})},
                         {"ready", true}});
  CHECK(document_from(bson.get()) == Document{{"_id", "jobs"s},
                                              {"state", 1},
                                              {"fence", std::int64_t{7}},
                                              {"load", 1.5},
                                              {"when", StoreTime{-1ms}},
                                              {"ts", ts},
                                              {"tags", Foreign{"array"}},
                                              {"more", Foreign{"object"}},
                                              {"ready", Foreign{"bool"}}});
}

TEST_CASE("a type that we have no value for is named as MongoDB names it", "[mongo][R14]") {
  const char* json = R"({"a": {"$binary": {"base64": "", "subType": "00"}}, "b": null,
      "c": {"$regularExpression": {"pattern": "x", "options": ""}},
      "d": {"$timestamp": {"t": 1, "i": 2}}, "e": {"$numberDecimal": "1"}, "f": {"$minKey": 1}})";
  bson_t* bson = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json), -1, nullptr);
  REQUIRE(bson != nullptr);
  CHECK(document_from(bson) == Document{{"a", Foreign{"binData"}},
                                        {"b", Foreign{"null"}},
                                        {"c", Foreign{"regex"}},
                                        {"d", Foreign{"timestamp"}},
                                        {"e", Foreign{"decimal"}},
                                        {"f", Foreign{"BSON type 255"}}});
  bson_destroy(bson);
}

TEST_CASE("texts keep what is behind a NUL", "[mongo]") {
  const Bson bson = doc({{"who", std::string_view("a\0b", 3)}});
  CHECK(document_from(bson.get()) == Document{{"who", "a\0b"s}});
}

TEST_CASE("names and texts that are no UTF-8 are read as they stand", "[mongo][R9][R14]") {
  const Bson bson = doc({{"\xff", 7}, {"who", "caf\xe9"}, {"state", 1}});
  CHECK(document_from(bson.get()) == Document{{"\xff", 7}, {"who", "caf\xe9"s}, {"state", 1}});
}

TEST_CASE("a line whose bytes are broken is malformed", "[mongo][line][R14]") {
  const Bson sound =
      doc({{"_id", "jobs"},
           {"line", doc({{"4d7f000000000000000000aa",
                          doc({{"process", "p"}, {"who", "w"}, {"since", StoreTime{}}})},
                         {"next", 7}})}});
  std::vector<std::uint8_t> bytes(bson_get_data(sound.get()),
                                  bson_get_data(sound.get()) + sound.get()->len);
  const std::string_view name = "next";
  *(std::search(bytes.begin(), bytes.end(), name.begin(), name.end()) - 1) = 0x20;
  bson_t broken;
  REQUIRE(bson_init_static(&broken, bytes.data(), bytes.size()));
  CHECK(document_from(&broken) == Document{{"_id", "jobs"s}, {"line", Foreign{"object"}}});
}

TEST_CASE("a document whose bytes are broken is refused, not read as far as they go",
          "[mongo][R14]") {
  const Bson sound = doc({{"_id", "jobs"}, {"fence", 7}});
  std::vector<std::uint8_t> bytes(bson_get_data(sound.get()),
                                  bson_get_data(sound.get()) + sound.get()->len);
  const std::string_view name = "fence";
  const auto type = std::search(bytes.begin(), bytes.end(), name.begin(), name.end()) - 1;
  *type = 0x20;  // No type of BSON's.
  bson_t broken;
  REQUIRE(bson_init_static(&broken, bytes.data(), bytes.size()));
  try {
    const Document document = document_from(&broken);
    FAIL("gave " << document.size() << " fields");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::bad_record);
  }
}

TEST_CASE("a path leads into documents and arrays, or nowhere", "[mongo]") {
  const Bson bson = doc({{"batch", array({doc({{"n", 7}})})}});
  const auto number = find(bson.get(), "batch.0.n");
  REQUIRE(number);
  CHECK(bson_iter_int32(&*number) == 7);
  CHECK_FALSE(document_at(&*number));
  CHECK_FALSE(find(bson.get(), "batch.1"));
}

TEST_CASE("a clock is named by the server's process, whatever its address", "[mongo][R4]") {
  const Token process = *token_from_hex("4d7f000000000000000000aa");
  const Bson hello = doc({{"topologyVersion", doc({{"processId", process}})}});
  CHECK(clock_of(hello.get(), "localhost:1") == clock_of(hello.get(), "127.0.0.1:1"));
  CHECK_THAT(clock_of(hello.get(), "db7:1"), Catch::EndsWith(to_hex(process)));
}

TEST_CASE("a server that does not name its process is known by its address", "[mongo][R4]") {
  const Bson member = doc({{"me", "db7:27017"}});
  CHECK(clock_of(member.get(), "127.0.0.1:27017") == "mongod:db7:27017");
  CHECK(clock_of(doc({}).get(), "db8:27017") == "mongod:db8:27017");
}
