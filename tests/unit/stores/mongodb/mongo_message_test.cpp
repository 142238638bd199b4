// Which bytes of a server libmongoc may see.
#include "stores/mongodb/mongo_message.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "stores/mongodb/mongo_bson.h"

using namespace distlock;

namespace {

constexpr Request kAsked{{0, 5, 0, 2013}};
constexpr Request kHello{{0, 5, 0, 2004}};

using Bytes = std::vector<std::uint8_t>;

template <class Number>
void add(Bytes& bytes, Number number) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&number);
  bytes.insert(bytes.end(), begin, begin + sizeof(number));
}

Bytes message(std::int32_t response_to, std::int32_t opcode, const Bytes& preamble,
              const Bson& document) {
  Bytes body = preamble;
  body.insert(body.end(), bson_get_data(document.get()),
              bson_get_data(document.get()) + document.get()->len);
  Bytes whole;
  const auto length = static_cast<std::int32_t>(kHeaderBytes + body.size());
  for (const std::int32_t field : {length, 9, response_to, opcode}) add(whole, field);
  whole.insert(whole.end(), body.begin(), body.end());
  return whole;
}

Bytes answer(const Bson& document) { return message(5, 2013, Bytes(5, 0), document); }

std::string why(const Bytes& bytes, const Request& request = kAsked) {
  return std::string(why_unsound(bytes, request));
}

Bson concern_error(Bson inside) {
  return doc({{"ok", 1}, {"writeConcernError", std::move(inside)}});
}

Bson nested(int levels) {
  Bson document = doc({{"x", 1}});
  for (int i = 0; i < levels; ++i) document = doc({{"x", std::move(document)}});
  return document;
}

}  // namespace

TEST_CASE("a hello whose compressors are not all texts is unsound", "[mongo][store]") {
  const auto hello = [](BsonValue compression) {
    return why(answer(doc({{"ok", 1}, {"compression", std::move(compression)}})));
  };
  CHECK(hello(array({})).empty());
  CHECK(hello(array({"snappy", "zlib"})).empty());
  CHECK(hello("snappy").empty());
  CHECK_FALSE(hello(array({1})).empty());
  CHECK_FALSE(hello(array({"zlib", doc({})})).empty());
  CHECK_FALSE(why(answer(doc({{"compression", array({})}, {"compression", array({1})}}))).empty());
}

TEST_CASE("a hello whose members are not all addresses is unsound", "[mongo][store][R14]") {
  const std::string list = GENERATE("hosts", "passives", "arbiters");
  const auto hello = [&](BsonValue member) {
    return why(answer(doc({{"ok", 1}, {list, array({"a:1", std::move(member)})}})));
  };
  for (const char* const sound :
       {"a", "db_1.example.net:27017", "a:65535", "10.0.0.1:1", "[::1]", "[fe80::1%eth0]:27017"}) {
    CAPTURE(sound);
    CHECK(hello(sound).empty());
  }
  for (const std::string odd :
       {"", ":1", "a:", "a:0", "a:65536", "x:99999", "a:1x", "a:-1", "a:1:2", "[]", "[::1",
        "[::1]1", "[::1]:", "a b", "a,b", "a/b", "u@a", "a\n", "/tmp/mongodb-27017.sock"}) {
    CAPTURE(odd);
    CHECK_FALSE(hello(odd).empty());
  }
  CHECK(hello(std::string(255, 'a')).empty());
  CHECK_FALSE(hello(std::string(256, 'a')).empty());
  CHECK_FALSE(hello(7).empty());
  CHECK_FALSE(hello(doc({})).empty());
  CHECK(why(answer(doc({{list, "no list"}}))).empty());
  CHECK_FALSE(why(answer(doc({{list, array({"a:1"})}, {list, array({7})}}))).empty());
}

TEST_CASE("a hello with more members than a set can have is unsound", "[mongo][store][R14]") {
  const auto with_members = [](int count) {
    Bson members = array({});
    for (int i = 0; i < count; ++i)
      append(members, std::to_string(i).c_str(), "a:" + std::to_string(i + 1));
    return why(answer(doc({{"ok", 1}, {"hosts", std::move(members)}})));
  };
  CHECK(with_members(50).empty());
  CHECK_FALSE(with_members(51).empty());
}

TEST_CASE("an answer announces another one only where the request allows that", "[mongo][store]") {
  Bytes request = message(0, 2013, Bytes(5, 0), doc({{"hello", 1}}));
  CHECK_FALSE(request_in(request).allows_more);
  request[18] = 1;  // exhaustAllowed
  CHECK(request_in(request).allows_more);
  const Bytes more = message(5, 2013, Bytes{2, 0, 0, 0, 0}, doc({{"ok", 1}}));
  CHECK_FALSE(why(more).empty());
  const Request for_more{{0, 5, 0, 2013}, true};
  CHECK(why(more, for_more).empty());
  // The next one is to the one before, of which message() makes the number 9.
  const Bytes second = message(9, 2013, Bytes(5, 0), doc({{"ok", 1}}));
  CHECK(why(second, request_after(for_more, more)).empty());
  CHECK_FALSE(why(second, request_after(for_more, answer(doc({{"ok", 1}})))).empty());
}

TEST_CASE("the cluster time of an answer is hidden, wherever it stands", "[mongo][store]") {
  Bytes bytes = answer(doc({{"$clusterTime", doc({{"a", 1}})},
                            {"ok", 1},
                            {"$clusterTime", doc({{"b", 2}})},
                            {"inside", doc({{"$clusterTime", 3}})}}));
  hide_cluster_time(bytes);
  CHECK(bytes == answer(doc({{"_clusterTime", doc({{"a", 1}})},
                             {"ok", 1},
                             {"_clusterTime", doc({{"b", 2}})},
                             {"inside", doc({{"$clusterTime", 3}})}})));
}

TEST_CASE("an answer of one document is sound, whatever it says", "[mongo][store]") {
  CHECK(why(answer(doc({}))).empty());
  CHECK(why(answer(doc({{"ok", "yes"}, {"code", "x"}, {"cursor", 5}}))).empty());
  CHECK(why(answer(doc({{"ok", 0}, {"code", 112}, {"errmsg", "conflict"}}))).empty());
  CHECK(why(answer(concern_error(doc({{"code", 64}, {"errmsg", 5}})))).empty());
  CHECK(why(answer(nested(100))).empty());
  Bytes hello(20, 0);
  hello[16] = 1;
  CHECK(why(message(5, 1, hello, doc({{"ok", 1}})), kHello).empty());
}

TEST_CASE("an answer with a document of as many levels as can be stored is sound",
          "[mongo][store][R14]") {
  const int levels = GENERATE(100, 180, 230);
  CHECK(why(answer(doc({{"value", nested(levels)}}))).empty());
  Bson batch = array({doc({{"lock", nested(levels)}})});
  CHECK(why(answer(doc({{"cursor", doc({{"firstBatch", std::move(batch)}})}}))).empty());
}

TEST_CASE("an answer that libmongoc would end the process for is not sound", "[mongo][store]") {
  // Its assertions, one by one.
  CHECK_FALSE(why(answer(doc({{"ok", 0}, {"code", 0}}))).empty());
  CHECK_FALSE(why(answer(doc({{"ok", 1}, {"code", 0.5}}))).empty());
  CHECK_FALSE(why(answer(doc({{"ok", 0}, {"code", std::int64_t{1} << 32}}))).empty());
  CHECK_FALSE(why(answer(concern_error(doc({{"code", 0}})))).empty());
  CHECK_FALSE(why(answer(concern_error(array({"x"})))).empty());
  CHECK_FALSE(why(answer(doc({{"writeConcernError", "x"}}))).empty());
}

TEST_CASE("an answer to hello has a document of authentication, or none", "[mongo][store]") {
  const auto hello = [](Bson speculation) {
    return answer(doc({{"ok", 1}, {"speculativeAuthenticate", std::move(speculation)}}));
  };
  CHECK(why(hello(doc({{"conversationId", 1}, {"done", false}}))).empty());
  CHECK_FALSE(why(hello(array({"x"}))).empty());
  CHECK_FALSE(why(answer(doc({{"ok", 1}, {"speculativeAuthenticate", 5}}))).empty());
  CHECK_FALSE(why(answer(doc({{"ok", 1}, {"speculativeAuthenticate", "x"}}))).empty());
}

TEST_CASE("an authentication takes no time without end", "[mongo][store]") {
  const bool early = GENERATE(false, true);
  const auto with = [&](const std::string& parameters) {
    Bson payload = doc({{"conversationId", 1}, {"payload", parameters}});
    return why(answer(early ? doc({{"speculativeAuthenticate", std::move(payload)}})
                            : std::move(payload)));
  };
  CHECK(with("r=abc,s=c2FsdA==,i=15000").empty());
  CHECK(with("r=abc,s=c2FsdA==,i=999999").empty());
  CHECK(with("v=c2lnbmF0dXJl").empty());
  CHECK_FALSE(with("r=abc,s=c2FsdA==,i=1000000").empty());
  CHECK_FALSE(with("i=300000000,r=abc,s=c2FsdA==").empty());
  CHECK_FALSE(with("r=abc,i= 3000000,s=c2FsdA==").empty());
  CHECK_FALSE(with("r=abc,i=5000,i=+3000000").empty());
}

TEST_CASE("the number of an error is read from its answer", "[mongo][store]") {
  CHECK(code_in(answer(doc({{"ok", 0}, {"code", 11600}}))) == 11600);
  CHECK(code_in(answer(doc({{"ok", 1}}))) == 0);
  CHECK(code_in(answer(doc({{"code", "x"}}))) == 0);
  Bytes hello(20, 0);
  CHECK(code_in(message(5, 1, hello, doc({{"ok", 0}, {"code", 18}}))) == 18);
}

TEST_CASE("an answer to something else is not sound", "[mongo][store]") {
  CHECK_FALSE(why(message(4, 2013, Bytes(5, 0), doc({{"ok", 1}}))).empty());
  CHECK_FALSE(why(message(5, 1, Bytes(20, 0), doc({{"ok", 1}}))).empty());
  CHECK_FALSE(why(answer(doc({{"ok", 1}})), kHello).empty());
  CHECK_FALSE(why(message(5, 1, Bytes(20, 0), doc({{"ok", 1}})), kHello).empty());
  CHECK_FALSE(why(message(5, 2013, {1, 0, 0, 0, 0}, doc({{"ok", 1}}))).empty());
  CHECK_FALSE(why(message(5, 2013, {0, 0, 0, 0, 1}, doc({{"ok", 1}}))).empty());
  CHECK_FALSE(why(message(5, 2012, Bytes(5, 0), doc({{"ok", 1}}))).empty());
}

TEST_CASE("bytes that are no document are not sound", "[mongo][store]") {
  const Bytes sound = answer(doc({{"ok", 1}, {"value", doc({{"x", "text"}})}}));
  REQUIRE(why(sound).empty());
  CHECK_FALSE(why(Bytes(sound.begin(), sound.begin() + kHeaderBytes)).empty());
  CHECK_FALSE(why(Bytes(sound.begin(), sound.end() - 1)).empty());
  CHECK_FALSE(why(answer(nested(2000))).empty());
  const auto spoilt_at = [&](const char* text, std::size_t offset) {
    Bytes spoilt = sound;
    const auto found = std::search(spoilt.begin(), spoilt.end(), text, text + std::strlen(text));
    *(found + static_cast<std::ptrdiff_t>(offset)) = 0x7f;
    return spoilt;
  };
  // The length of the inner document, and of a string in it.
  CHECK_FALSE(why(spoilt_at("value", 6)).empty());
  CHECK_FALSE(why(spoilt_at("text", 4)).empty());
}

TEST_CASE("a message has a length that is possible", "[mongo][store]") {
  CHECK(length_is_possible(17));
  CHECK(length_is_possible(48'000'000));
  CHECK_FALSE(length_is_possible(16));
  CHECK_FALSE(length_is_possible(-1));
  CHECK_FALSE(length_is_possible(48'000'001));
}

// As servers send it.
TEST_CASE("an authentication whose parameters are bytes takes no time without end",
          "[mongo][store][R12]") {
  const auto with = [](const std::string& parameters) {
    Bson reply = doc({{"conversationId", 1}, {"done", false}, {"ok", 1}});
    bson_append_binary(reply.get(), "payload", -1, BSON_SUBTYPE_BINARY,
                       reinterpret_cast<const std::uint8_t*>(parameters.data()),
                       static_cast<std::uint32_t>(parameters.size()));
    return why(answer(reply));
  };
  CHECK(with("r=abc,s=c2FsdA==,i=15000").empty());
  CHECK_FALSE(with("r=abc,s=c2FsdA==,i=2000000000").empty());
}
