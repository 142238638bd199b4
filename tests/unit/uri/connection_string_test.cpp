#include "distlock/connection_string.h"

#include <catch2/catch.hpp>

#include "distlock/error.h"

using namespace distlock;
using namespace std::string_literals;

namespace {

std::string refusal_of_uri(std::string_view text) {
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

TEST_CASE("the scheme says which store", "[connection_string]") {
  CHECK(ConnectionString("mongodb://cfg1,cfg2:27018/?replicaSet=cfg").kind() == StoreKind::mongodb);
  CHECK(ConnectionString("mongodb+srv://db.example.com/").kind() == StoreKind::mongodb);
  CHECK(ConnectionString("sqlite:locks.db").kind() == StoreKind::sqlite);
  CHECK(ConnectionString("memory:").kind() == StoreKind::memory);
}

TEST_CASE("a sqlite string says which file and how durable", "[connection_string]") {
  CHECK(ConnectionString("sqlite:/var/lib/l.db").path() == "/var/lib/l.db");
  CHECK(ConnectionString("sqlite:///var/lib/l.db").path() == "///var/lib/l.db");
  CHECK(ConnectionString("sqlite:/var/lib/l.db").durable());
  CHECK(ConnectionString("sqlite:l.db?synchronous=full").durable());
  CHECK(ConnectionString("sqlite:l.db?synchronous=full").path() == "l.db");
  CHECK_FALSE(ConnectionString("sqlite:l.db?synchronous=off").durable());
  CHECK(ConnectionString("sqlite:l.db?synchronous=off").path() == "l.db");
}

TEST_CASE("good MongoDB strings are accepted", "[connection_string]") {
  const std::string text = GENERATE(
      "mongodb://localhost"s, "mongodb://localhost/"s, "mongodb://[::1]:27017/config"s,
      "mongodb://%2Ftmp%2Fmongodb-27017.sock/"s, "mongodb://[::1]"s, "mongodb://%2ftmp%2fx.sock"s,
      "mongodb://h/?"s, "mongodb://user@h/"s, "mongodb://u:p%40ss@h:1/"s,
      "mongodb://h:65535/?W=majority&JOURNAL=true&readconcernlevel=linearizable"s,
      "mongodb://h/?readPreference=primary&retryWrites=false&wtimeoutMS=5000&tls=true"s,
      "mongodb://h/?appName=a@b&directConnection=true"s,
      "mongodb+srv://u:p@db.example.com/locks?authSource=admin"s);
  INFO(text);
  CHECK_NOTHROW(ConnectionString(text));
}

TEST_CASE("a string that cannot be used is refused with what to write", "[connection_string]") {
  const auto [text, hint] = GENERATE(table<std::string, std::string>({
      {"", "it is empty; write mongodb://"},
      {"locks.db", "unknown scheme"},
      {"postgres://h/db", "mongodb://HOST"},
      {"memory:x", "nothing after it"},
      {"sqlite:", "path is missing"},
      {"sqlite:?synchronous=off", "path is missing"},
      {"sqlite:~/locks.db",
       "\"sqlite:~/locks.db\": '~' is not expanded here; write the folder out"},
      {"sqlite://locks.db", "sqlite:PATH for a relative one"},
      {"sqlite:mongodb://h/?x=1", "leave out sqlite:"},
      {"sqlite:mongodb+srv://h/", "leave out sqlite:"},
      {"sqlite:sqlite://l.db", "leave out sqlite:"},
      {"sqlite:a\0b"s, "NUL"},
      {"sqlite:l.db?synchronous=maybe", "synchronous=off"},
      {"sqlite:l.db?mode=ro", "synchronous=off"},
      {"mongodb://", "host is missing"},
      {"mongodb:///config", "host is missing"},
      {"mongodb://a,,b", "host is missing"},
      {"mongodb://:27017", "host is missing"},
      {"mongodb://h:0", "1 to 65535"},
      {"mongodb://h:65536", "1 to 65535"},
      {"mongodb://h:99999999999999999999", "1 to 65535"},
      {"mongodb://h:", "1 to 65535"},
      {"mongodb://h:-1", "1 to 65535"},
      {"mongodb://::1", "brackets"},
      {"mongodb://[::1", "IPv6"},
      {"mongodb://[::1]27017", "follow an IPv6"},
      {"mongodb://[localhost]", "IPv6"},
      {"mongodb://[::x]", "IPv6"},
      {"mongodb://h:27017x", "1 to 65535"},
      {"mongodb://%2Ftmp%2Fx", ".sock"},
      {"mongodb://%2ftmp%2fx", ".sock"},
      {"mongodb://a b/", "blanks"},
      {"mongodb://h\n/", "blanks"},
      {"mongodb://h%zz/", "hexadecimal"},
      {"mongodb://@h/", "user before '@'"},
      {"mongodb://:secret@h/", "user before '@'"},
      {"mongodb://h?w=majority", "'/' is missing"},
      {"mongodb://h/a/b", "database"},
      {"mongodb://h/%zz", "database"},
      {"mongodb://h/" + std::string(64, 'd'), "database"},
      {"mongodb://h/?replicaSet=%zz", "hexadecimal"},
      {"mongodb+srv://a.b.c,d.e.f/", "one host name"},
      {"mongodb+srv://a.b.c:1/", "without a port"},
      {"mongodb+srv://localhost/", "three parts"},
      {"mongodb+srv://a.b.c/?directConnection=true", "mongodb+srv"},
      {"mongodb+srv://a.b.c/?DIRECTCONNECTION=true", "mongodb+srv"},
      {"mongodb://h/?replcaSet=x", "option replcaSet: unknown option; known are"},
      {"mongodb://h/?replcaSet=x", "replicaSet"},
      {"mongodb://h/?replicaSet", "no value"},
      {"mongodb://h/?replicaSet=", "no value"},
      {"mongodb://h/?tls=yes", "true or false"},
      {"mongodb://h/?connectTimeoutMS=1s", "whole number"},
      {"mongodb://h/?connectTimeoutMS=1000000000", "whole number"},
      {"mongodb://h/?w=1", "can only be majority"},
      {"mongodb://h/?w=majority&w=0", "can only be majority"},
      {"mongodb://h/?journal=false", "can only be true"},
      {"mongodb://h/?readConcernLevel=local", "majority or linearizable"},
      {"mongodb://h/?readPreference=secondary", "can only be primary"},
      {"mongodb://h/?readPreference=primaryPreferred", "can only be primary"},
      {"mongodb://h/?readPreference=prim", "can only be primary"},
      {"mongodb://h/?readConcernLevel=majority|linearizable", "majority or linearizable"},
      {"mongodb://h/?readConcernLevel=linear", "majority or linearizable"},
      {"mongodb://h/?w=majority2", "can only be majority"},
      {"mongodb://h/?journal=truely", "can only be true"},
      {"mongodb://h/?tls=falsetto", "true or false"},
      {"mongodb://h/?connectTimeoutMS=100ms", "whole number"},
      {"mongodb://h#x", "%23"},
      {"mongodb://h/db#x", "%23"},
      {"mongodb://h/?appName=a#b", "%23"},
      {"mongodb://h/?loadBalanced=true", "load balancer"},
      {"mongodb://h/?timeoutMS=100", "serverSelectionTimeoutMS"},
  }));
  INFO(text);
  CHECK_THAT(refusal_of_uri(text), Catch::Contains(hint));
}

TEST_CASE("the redacted string shows everything but secrets", "[connection_string]") {
  CHECK(ConnectionString("mongodb://u:geheim@h:1,i:2/db?replicaSet=r").redacted() ==
        "mongodb://u:***@h:1,i:2/db?replicaSet=r");
  CHECK(ConnectionString("mongodb://u@h/").redacted() == "mongodb://u@h/");
  CHECK(
      ConnectionString("mongodb://h/?TLSCertificateKeyFilePassword=geheim@1&tls=true").redacted() ==
      "mongodb://h/?tlsCertificateKeyFilePassword=***&tls=true");
  CHECK(ConnectionString("mongodb://h/?authMechanismProperties=TOKEN:geheim").redacted() ==
        "mongodb://h/?authMechanismProperties=***");
  CHECK(ConnectionString("sqlite:/a/\x1b[2J.db").redacted() == "sqlite:/a/\\x1b[2J.db");
  CHECK(ConnectionString("mongodb://u:geheim@h/").text() == "mongodb://u:geheim@h/");
}

TEST_CASE("no refusal shows a password, however broken the string", "[connection_string]") {
  const std::string text = GENERATE(
      "mongodb://u:geheim@"s, "mongodb://u:geheim@h:99999/"s, "mongodb://u:geheim@h/?w=1"s,
      "mongodb://u:geh@geheim@h"s, "mongodb://u:geh/geheim@h"s, "mongodb://u:geh?geheim@h"s,
      "mongodb://u:1/geheim@h"s, "mongodb://u:1?geheim@h"s, "mongodb://u:geh#geheim@h"s,
      "mongodb://u:geh:geheim@h"s, "mongodb://u:geheim%@h"s, "mongodb://u:geheim%zz@h"s,
      "mongodb://u:geheim"s, "mongodb://u:geheim/"s, "mongodb://u:geheim,h:1"s,
      "mongodb://h:1,u:geheim"s, "mongodb://u:x/geheim"s, "mongodb://u:x?geheim"s,
      "mongodb://u:Geh eim geheim@h"s, "mongodb:/u:geheim@h"s, "mongodb:/u:geheim"s,
      "mongodb_password=geheim"s, "mongodb:u:geheim@h"s, "mongo://u:geheim@h"s,
      "mongodb+src://u:geheim@h"s, "MONGODB://u:geheim@h"s, "u:geheim@h"s,
      "postgres://u:geheim@h/db"s, "redis:geheim@h"s, " mongodb://u:geheim@h"s,
      "mongodb+srv://u:geheim@localhost"s, "memory:geheim"s, "sqlite:l.db?key=geheim"s,
      "sqlite:mongodb://u:geheim@h/?x=1"s, "sqlite:mongodb://u:geheim@h/"s,
      "sqlite:mongodb+srv://u:geheim@h.a.b/?synchronous=off"s, "sqlite: MongoDB://u:geheim@h"s,
      "sqlite:mongodb://u:x?geheim@h"s, "sqlite:~/mongodb://u:geheim@h"s, "sqlite://u:geheim@h"s,
      "postgres://h/db?password=geheim"s, "mongodb://h/?pasword=geheim"s,
      "mongodb://h/?tlsCertificateKeyFilePassword=geheim&w=1"s,
      "mongodb://h:0/?tlsCertificateKeyFilePassword=a@geheim"s,
      "mongodb://h:0/?tlsCertificateKeyFilePassword=a&geheim"s,
      "mongodb://h/?authMechanismProperties=TOKEN:geheim&nope=1"s,
      "mongodb://h/?tlsCertificateKeyFilePassword=a&geheim=b"s, "mongodb://u:1/?geheim=b@h"s,
      "mongodb://u:1/?a=b&geheim=b@h"s, "mongodb://h/?geheim"s, "mongodb://h/?geheim1=x"s,
      "mongodb://u:\ngeheim@h"s, "mongodb://u:geh@geheim/x@h"s, "mongodb://u:geh@geheim?x@h"s,
      "mongodb://u:geh@x:geheim@h"s, "mongo://u:geh@geheim/x@h"s, "mongodb://geh@geheim/x@h/?w=1"s,
      "mongodb://h#tlsCertificateKeyFilePassword=geheim"s, "mongodb://h/#geheim"s,
      "mongodb://h/db#?tlsCertificateKeyFilePassword=geheim"s, "mongodb://h:0#u:geheim"s,
      "mongodb://h/?tls=true#&tlsCertificateKeyFilePassword=geheim"s,
      "mongodb://h/?appName=a#tlsCertificateKeyFilePassword=geheim"s,
      "mongodb://h/?w=1&tlsCertificateKeyFilePassword=a#geheim"s, "h/db#password=geheim"s,
      "mongodb://h/?tlsCertificateKeyFilePassword=%zz#geheim"s);
  INFO(text);
  CHECK_THAT(refusal_of_uri(text), !Catch::Contains("geheim"));
}

TEST_CASE("strings are equal only if their passwords are", "[connection_string]") {
  const ConnectionString one("mongodb://u:one@h/");
  const ConnectionString other("mongodb://u:other@h/");
  REQUIRE(one.redacted() == other.redacted());
  CHECK(one == ConnectionString("mongodb://u:one@h/"));
  CHECK(one != other);
}

TEST_CASE("the home folder of no user is expanded in a path", "[connection_string][R1]") {
  for (const std::string path : {"~", "~/locks.db", "~ann/locks.db", "~+/locks.db"}) {
    CAPTURE(path);
    CHECK_THAT(refusal_of_uri("sqlite:" + path), Catch::Contains("'~' is not expanded here"));
  }
}

TEST_CASE("a refusal is fit for a terminal, whatever the string", "[connection_string][R14]") {
  for (const std::string text :
       {"mongodb://h\x1b[2J/", "mongodb://u:p@h\x1b[2J/", "mongo://h\x1b[2J/", "sqlite:~\x1b[2J",
        "mirrored+sqlite:a,b\x1b[2J", "mirrored+mongodb://a,b\x1b[2J/"}) {
    CAPTURE(text);
    CHECK_THAT(refusal_of_uri(text), Catch::Contains("\\x1b[2J") && !Catch::Contains("\x1b"));
  }
}

TEST_CASE("an unknown option is named only where it is short enough to be a name",
          "[connection_string][R14]") {
  const std::string name(40, 'k');
  CHECK_THAT(refusal_of_uri("mongodb://h/?" + name + "=x"),
             Catch::Contains("option " + name + ": unknown option"));
  CHECK_THAT(refusal_of_uri("mongodb://h/?k" + name + "=x"), !Catch::Contains(name));
}

TEST_CASE("a store's string behind sqlite: is no path, also without its slashes", "[uri][R14]") {
  const std::string path = GENERATE("mongodb:ann:secret@db1", "mongodb+srv:ann:secret@a.b.c",
                                    "memory:", "sqlite:locks.db", "mirrored+sqlite:a");
  const std::string refusal = refusal_of_uri("sqlite:" + path);
  CHECK_THAT(refusal, Catch::Contains("the path is a URI"));
  CHECK_THAT(refusal, !Catch::Contains("secret"));
  CHECK_NOTHROW(ConnectionString("sqlite:mongodb.db"));
}
