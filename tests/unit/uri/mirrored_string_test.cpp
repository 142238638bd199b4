#include "uri/mirrored_string.h"

#include <catch2/catch.hpp>

#include "distlock/connection_string.h"
#include "distlock/error.h"

// Connection strings of mirrored stores: their members, and what is refused.

using namespace distlock;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

using Names = std::vector<std::string>;

Names members_in(const std::string& text) {
  const ConnectionString connection(text);
  CHECK(connection.kind() == StoreKind::mirrored);
  Names members;
  for (const ConnectionString& member : connection.members()) members.push_back(member.text());
  return members;
}

std::string refusal_of_mirrored(const std::string& text) {
  try {
    const ConnectionString accepted(text);
    FAIL_CHECK("accepted: " << accepted.redacted());
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_argument);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("each host of a mirrored string is a member of its own", "[connection_string][M7]") {
  CHECK(members_in("mirrored+mongodb://cfg1,cfg2:27018,[::1]/") ==
        Names{"mongodb://cfg1/?directConnection=true",
              "mongodb://cfg2:27018/?directConnection=true",
              "mongodb://[::1]/?directConnection=true"});
  CHECK(members_in("mirrored+mongodb://u:p%40@a,b,c/locks?directConnection=true&tls=true").at(2) ==
        "mongodb://u:p%40@c/locks?tls=true&directConnection=true");
  CHECK(members_in("mirrored+mongodb://h:1,h:2,h:3,h:4,h:5").size() == 5);
  CHECK(members_in("mirrored+mongodb://mongodb:27017,sqlite:1,memory:1").size() == 3);
  CHECK(members_in("mirrored+mongodb://[fe80::1%25a],[fe80::1%25b],%2FX.sock").size() == 3);
  CHECK(members_in("mirrored+mongodb://%2Fx.sock,%2FX.sock,h").size() == 3);
  CHECK(members_in("mirrored+mongodb://127.0.0.1,127.0.0.2,127.0.0.3").size() == 3);
}

TEST_CASE("each path of a mirrored string is a member of its own", "[connection_string][M7]") {
  CHECK(members_in("mirrored+sqlite:/a/l.db,b.db,c") ==
        Names{"sqlite:/a/l.db", "sqlite:b.db", "sqlite:c"});
  CHECK(members_in("mirrored+sqlite:a,b,c?synchronous=off").at(1) == "sqlite:b?synchronous=off");
  CHECK(members_in(R"(mirrored+sqlite:a\,a,b\\,c\d)") ==
        Names{"sqlite:a,a", R"(sqlite:b\)", R"(sqlite:c\d)"});
  CHECK(ConnectionString("sqlite:a").members().empty());
}

TEST_CASE("a mirrored string that cannot be used is refused with what to write",
          "[connection_string][M7]") {
  const auto [text, hint] = GENERATE(table<std::string, std::string>({
      {"mirrored+", "mirrored+sqlite:PATH,PATH,PATH"},
      {"mirrored:a,b,c", "unknown scheme"},
      {"mirrored+memory:", "says not what its members are"},
      {"mirrored+mongodb+srv://db.example.com/", "says not what its members are"},
      {"mirrored+mirrored+sqlite:a,b,c", "says not what its members are"},
      {"mirrored+mongodb://a/", "names 1 member;"},
      {"mirrored+mongodb://a,b/", "names 2 members"},
      {"mirrored+mongodb://a,b,c,d/", "3, 5, 7 or 9"},
      {"mirrored+mongodb://a,b,c,d,e,f,g,h,i,j,k/", "names 11 members"},
      {"mirrored+mongodb://a,,c/", "host is missing"},
      {"mirrored+mongodb://a,b,a/", "two of its members are one store"},
      {"mirrored+mongodb://a,b,A:27017/", "two of its members"},
      {"mirrored+mongodb://a,b,a.:027017/", "two of its members"},
      {"mirrored+mongodb://localhost,b,127.0.0.1/", "two of its members"},
      {"mirrored+mongodb://0.0.0.0,b,127.0.0.1/", "two of its members"},
      {"mirrored+mongodb://[::],b,localhost/", "two of its members"},
      {"mirrored+mongodb://localhost:27017,b,[::1]/", "two of its members"},
      {"mirrored+mongodb://localhost,b,[::ffff:127.0.0.1]/", "two of its members"},
      {"mirrored+mongodb://[::1]:1,127.1:1,c/", "two of its members"},
      {"mirrored+mongodb://[2001:db8::1],b,[2001:DB8:0::1]/", "two of its members"},
      {"mirrored+mongodb://[2001:db8::1],b,[2001:db8::1%25eth0]/", "two of its members"},
      {"mirrored+mongodb://[fe80::1%25eth0],b,[FE80:0::1%25ETH0]/", "two of its members"},
      {"mirrored+mongodb://[::1%25lo],b,localhost/", "two of its members"},
      {"mirrored+mongodb://[::ffff:10.0.0.1],b,10.0.0.1/", "two of its members"},
      {"mirrored+mongodb://a%31:1,b,a1:1/", "two of its members"},
      {"mirrored+mongodb://%2Fx.sock,b,%2Fx.sock/", "two of its members"},
      {"mirrored+mongodb://%2Fx.sock,b,%2f%78.sock/", "two of its members"},
      {"mirrored+mongodb://a,b,c/?replicaSet=r", "replicaSet cannot be used"},
      {"mirrored+mongodb://a,b,c/?tls=true&REPLICASET=r", "replicaSet cannot be used"},
      {"mirrored+mongodb://a,b,c/?directConnection=false", "directConnection can only be true"},
      {"mirrored+mongodb://a,b,c/?w=1", "can only be majority"},
      {"mirrored+mongodb://a,sqlite:/b,c/", "all members are of one kind"},
      {"mirrored+mongodb://a,mongodb://b,mongodb://c/", "all members are of one kind"},
      {"mirrored+sqlite:a,mongodb://b/,c", "all members are of one kind"},
      {"mirrored+sqlite:a,sqlite:b,sqlite:c", "all members are of one kind"},
      {"mirrored+mongodb://a,sqlite:b,c/", "all members are of one kind"},
      {"mirrored+sqlite:a,memory:,c", "all members are of one kind"},
      {"mirrored+sqlite:", "path is empty"},
      {"mirrored+sqlite:a,,c", "path is empty"},
      {"mirrored+sqlite:a,b,?synchronous=off", "path is empty"},
      {"mirrored+sqlite:a", "names 1 member;"},
      {"mirrored+sqlite:a,b", "a comma in a path is written \\,"},
      {"mirrored+sqlite:a,b,./a", "two of its members"},
      {"mirrored+sqlite:/d/a,b,/d/../d//a", "two of its members"},
      {"mirrored+sqlite:~/a,b,c", "'~' is not expanded"},
      {"mirrored+sqlite:a,b,c?synchronous=maybe", "synchronous=off"},
      {"mirrored+sqlite:a,b\0,c"s, "NUL"},
      {"mirrored+sqlite:a,b,c?longest=1", "longestTakeoverMS=NUMBER"},
      {"mirrored+sqlite:a,b,c?synchronous=off&synchronous=off", "longestTakeoverMS=NUMBER"},
      {"mirrored+mongodb://a,b,c/?longest=1", "and of a mirrored store longestTakeoverMS"},
      {"mirrored+mongodb://a,b,c?longestTakeoverMS=1000", "a '/' is missing"},
      {"mirrored+mongodb://a,b,c/?tls=maybe&longestTakeoverMS=1000", "tls must be true or false"},
      {"mongodb://a/?longestTakeoverMS=1000", "unknown option"},
      {"sqlite:a?longestTakeoverMS=1000", "the only option"},
      {"mirrored+sqlite:a,b,c?longestTakeoverMS=1&longesttakeoverms=2", "is given twice"},
  }));
  INFO(text);
  CHECK_THAT(refusal_of_mirrored(text), Catch::Contains(hint));
}

TEST_CASE("a mirrored string may say the longest window of a set", "[connection_string][M6]") {
  const auto window_in = [](const std::string& text) {
    return ConnectionString(text).longest_takeover();
  };
  CHECK(window_in("mirrored+sqlite:a,b,c") == std::nullopt);
  CHECK(window_in("mirrored+sqlite:a,b,c?longestTakeoverMS=1") == 1ms);
  CHECK(window_in("mirrored+mongodb://a,b,c/?longestTakeoverMS=31536000000") == 365 * 24h);
  CHECK(window_in("mirrored+mongodb://a,b,c/?tls=true&LONGESTTAKEOVERMS=7200000") == 2h);

  // It is of the whole store: its members do not know it.
  CHECK(members_in("mirrored+sqlite:a,b,c?longestTakeoverMS=9") ==
        Names{"sqlite:a", "sqlite:b", "sqlite:c"});
  CHECK(members_in("mirrored+sqlite:a,b,c?longestTakeoverMS=9&synchronous=off").at(0) ==
        "sqlite:a?synchronous=off");
  CHECK(members_in("mirrored+mongodb://a,b,c/db?longestTakeoverMS=9&tls=true").at(1) ==
        "mongodb://b/db?tls=true&directConnection=true");
  CHECK(members_in("mirrored+mongodb://a,b,c/?longestTakeoverMS=9").at(1) ==
        "mongodb://b/?directConnection=true");
  CHECK(ConnectionString("mirrored+mongodb://u:geheim@a,b,c/?longestTakeoverMS=9").redacted() ==
        "mirrored+mongodb://u:***@a,b,c/?longestTakeoverMS=9");
  CHECK(ConnectionString("mirrored+mongodb://a,b,c/?longestTakeoverMS=9&tls=true").redacted() ==
        "mirrored+mongodb://a,b,c/?tls=true&longestTakeoverMS=9");
}

TEST_CASE("a longest window that is none is refused, with its bounds", "[connection_string][M6]") {
  const std::string value = GENERATE("", "=", "=0", "=-1", "=+1", "=1.5", "=1h", "= 1", "=0x10",
                                     "=31536000001", "=99999999999999999999", "=%31", "==1");
  const std::string text = GENERATE("mirrored+sqlite:a,b,c?longestTakeoverMS",
                                    "mirrored+mongodb://a,b,c/?tls=true&longestTakeoverMS");
  INFO(text + value);
  CHECK_THAT(refusal_of_mirrored(text + value),
             Catch::Contains("option longestTakeoverMS must be a whole number of milliseconds, "
                             "from 1 to 31536000000"));
}

TEST_CASE("a string that is refused for its longest window shows no value", "[connection_string]") {
  const std::string text = GENERATE("mirrored+mongodb://u:geheim@a,b,c/?longestTakeoverMS=geheim"s,
                                    "mirrored+mongodb://u:geheim?longestTakeoverMS=1@a,b,c/"s,
                                    "mirrored+sqlite:a,b,c?longestTakeoverMS=geheim"s);
  INFO(text);
  CHECK_THAT(refusal_of_mirrored(text), !Catch::Contains("geheim"));
}

TEST_CASE("a mirrored string that names one store twice is refused", "[connection_string][M7]") {
  const auto [text, hint] = GENERATE(table<std::string, std::string>({
      {"mirrored+sqlite:a,b,./a?longestTakeoverMS=9", "two of its members"},
  }));
  INFO(text);
  CHECK_THAT(refusal_of_mirrored(text), Catch::Contains(hint));
}

TEST_CASE("a mirrored string shows no password of its members", "[connection_string]") {
  const ConnectionString good("mirrored+mongodb://u:geheim@a,b,c/db?tls=true");
  CHECK(good.redacted() == "mirrored+mongodb://u:***@a,b,c/db?tls=true");
  CHECK(good.members().at(1).redacted() == "mongodb://u:***@b/db?tls=true&directConnection=true");
  const std::string paths = "mirrored+sqlite:/u:p@h/a,b,c?synchronous=off";
  CHECK(ConnectionString(paths).redacted() == paths);
  CHECK(ConnectionString("mirrored+sqlite:a,b,c\x1b").redacted() == "mirrored+sqlite:a,b,c\\x1b");

  const std::string text = GENERATE(
      "mirrored+mongodb://u:geheim@a,b/"s, "mirrored+mongodb://u:geheim@a,b,c/?replicaSet=x"s,
      "mirrored+mongodb://u:geheim@a,u:geheim@b,u:geheim@c/"s, "mirrored+mongodb://u:geheim"s,
      "mirrored+mongodb://u:ge,geheim@a,b,c/?w=1"s, "mirrored+mongodb+srv://u:geheim@h.a.b/"s,
      "mirrored+sqlite:a,mongodb://u:geheim@h,c"s, "mirrored+sqlite:mongodb://u:ge,geheim@h,c"s,
      "mirrored+sqlite:mongodb:ann:geheim@h,b,c"s, "mirrored+sqlite:mongodb://ann:geheim,b,c"s,
      "mirrored+sqlite:a,b?key=geheim"s, "mirrored+memory:geheim"s, "mirrored+u:geheim@h"s);
  INFO(text);
  CHECK_THAT(refusal_of_mirrored(text), !Catch::Contains("geheim"));
}

TEST_CASE("a mirrored string may name up to nine members", "[connection_string][M7]") {
  CHECK(members_in("mirrored+sqlite:a,b,c,d,e,f,g").size() == 7);
  CHECK(members_in("mirrored+sqlite:a,b,c,d,e,f,g,h,i").size() == 9);
  CHECK(members_in("mirrored+mongodb://a,b,c,d,e,f,g,h,i/").size() == 9);
}

TEST_CASE("a member's host that is not percent-encoded is refused as such",
          "[connection_string][M7]") {
  for (const std::string host : {"a%zz", "a%", "%2"}) {
    CAPTURE(host);
    CHECK_THAT(refusal_of_mirrored("mirrored+mongodb://" + host + ",b,c/"),
               Catch::Contains("without two hexadecimal digits"));
  }
}

TEST_CASE("a user or a database of each host is told to be one of all", "[uri][M7]") {
  const auto problem_of = [](const std::string& members) {
    return members_of_mirrored("mirrored+mongodb://" + members).problem;
  };
  const auto once = Catch::Contains("they stand once, before the first host");
  CHECK_THAT(problem_of("ann:one@a,ann:two@b,c/"), once);
  CHECK_THAT(problem_of("a:1,ann:two@b:2,c/"), once);
  CHECK_THAT(problem_of("ann:on/e@a,b,c/"), !once);
  const auto one_of_all = Catch::Contains("one database, behind the last host, is that of all");
  CHECK_THAT(problem_of("a/one,b/two,c/three"), one_of_all);
  CHECK_THAT(problem_of("a,b,c/o.ne"), !one_of_all);
}

TEST_CASE("a refused list of paths hides a member that names a store of its own", "[uri][M7]") {
  const std::string text = "mirrored+sqlite:a,b,mongodb:ann:secret";
  CHECK_FALSE(members_of_mirrored(text).problem.empty());
  CHECK(redacted_refused_mirrored(text) == "mirrored+sqlite:***");
  CHECK(redacted_refused_mirrored("mirrored+sqlite:a,b") == "mirrored+sqlite:a,b");
}
