#include "uri/mongodb_uri.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "uri/mongodb_uri_options.h"
#include "uri/redacted_uri.h"

using namespace distlock;
using namespace std::string_literals;

namespace {

const std::vector<std::string> kWords{"appName",     "authMechanism",        "authSource",
                                      "compressors", "replicaSet",           "srvServiceName",
                                      "tlsCAFile",   "tlsCertificateKeyFile"};
const std::vector<std::string> kSecrets{"authMechanismProperties", "tlsCertificateKeyFilePassword"};
const std::vector<std::string> kBooleans{"directConnection",
                                         "retryReads",
                                         "retryWrites",
                                         "serverSelectionTryOnce",
                                         "ssl",
                                         "tls",
                                         "tlsAllowInvalidCertificates",
                                         "tlsAllowInvalidHostnames",
                                         "tlsInsecure"};
const std::vector<std::string> kNumbers{"connectTimeoutMS",
                                        "localThresholdMS",
                                        "maxPoolSize",
                                        "serverSelectionTimeoutMS",
                                        "socketCheckIntervalMS",
                                        "socketTimeoutMS",
                                        "srvMaxHosts",
                                        "waitQueueTimeoutMS",
                                        "wtimeoutMS"};
const std::vector<std::string> kInRange{"heartbeatFrequencyMS", "zlibCompressionLevel"};
const std::vector<std::string> kLimited{"journal", "readConcernLevel", "readPreference", "w"};
const std::vector<std::string> kNever{"loadBalanced",
                                      "maxStalenessSeconds",
                                      "readPreferenceTags",
                                      "timeoutMS",
                                      "tlsDisableCertificateRevocationCheck",
                                      "tlsDisableOCSPEndpointCheck"};

void accepted(const std::string& option) {
  INFO(option);
  CHECK(problem_of_mongodb_option(option) == "");
}

void refused(const std::string& option, const std::string& part) {
  INFO(option);
  CHECK_THAT(problem_of_mongodb_option(option), Catch::Contains(part));
}

void good(const std::string& uri) {
  INFO(uri);
  CHECK(problem_of_mongodb_uri(uri) == "");
}

void bad(const std::string& uri, const std::string& part) {
  INFO(uri);
  CHECK_THAT(problem_of_mongodb_uri(uri), Catch::Contains(part));
}

}  // namespace

TEST_CASE("an option that takes words takes any but none", "[connection_string]") {
  for (const auto* names : {&kWords, &kSecrets}) {
    for (const std::string& name : *names) {
      accepted(name + "=x");
      refused(name + "=", "has no value; write " + name + "=VALUE");
      refused(name, "has no value");
    }
  }
}

TEST_CASE("an option that is true or false is nothing else", "[connection_string]") {
  for (const std::string& name : kBooleans) {
    accepted(name + "=true");
    accepted(name + "=false");
    for (const std::string value : {"1", "tru", "falsey", "true|false", "|"}) {
      refused(name + "=" + value, "option " + name + " must be true or false");
    }
  }
}

TEST_CASE("an option that is a number has one to nine digits", "[connection_string]") {
  for (const std::string& name : kNumbers) {
    accepted(name + "=0");
    accepted(name + "=999999999");
    for (const std::string value : {"1000000000", "9999999999", "-1", "-0", "1.5", "true"}) {
      refused(name + "=" + value, "option " + name + " must be a whole number from 0 to 999999999");
    }
  }
}

TEST_CASE("an option whose number the driver limits says the limits", "[connection_string]") {
  accepted("heartbeatFrequencyMS=500");
  accepted("heartbeatFrequencyMS=999999999");
  refused("heartbeatFrequencyMS=499", "must be a whole number from 500 to 999999999");
  accepted("zlibCompressionLevel=0");
  accepted("zlibCompressionLevel=9");
  refused("zlibCompressionLevel=10", "must be a whole number from 0 to 9");
}

TEST_CASE("an option that could weaken the lock takes the safe values only",
          "[connection_string][R8]") {
  accepted("journal=true");
  refused("journal=false", "option journal can only be true:");
  accepted("readConcernLevel=majority");
  accepted("readConcernLevel=linearizable");
  for (const std::string value : {"local", "available", "snapshot", "majority|linearizable", "m"}) {
    refused("readConcernLevel=" + value,
            "option readConcernLevel can only be majority or linearizable:");
  }
  accepted("readPreference=primary");
  for (const std::string value : {"primaryPreferred", "secondary", "nearest", "prim"}) {
    refused("readPreference=" + value, "option readPreference can only be primary:");
  }
  accepted("w=majority");
  for (const std::string value : {"0", "1", "2", "majority2", "major"}) {
    refused("w=" + value, "option w can only be majority:");
  }
}

TEST_CASE("an option that cannot be used says why", "[connection_string]") {
  refused("loadBalanced=false", "which member's clock stamped a ping");
  refused("maxStalenessSeconds=90", "reads go to the primary");
  refused("readPreferenceTags=dc:ny", "reads go to the primary");
  refused("timeoutMS=1", "write serverSelectionTimeoutMS");
  for (const std::string off :
       {"tlsDisableCertificateRevocationCheck=true", "tlsDisableOCSPEndpointCheck=false"}) {
    refused(off, "cannot turn checks of revoked certificates off");
  }
}

TEST_CASE("an unknown option is answered with all that can be used", "[connection_string]") {
  std::vector<std::string> names;
  for (const auto* some : {&kWords, &kSecrets, &kBooleans, &kNumbers, &kInRange, &kLimited}) {
    names.insert(names.end(), some->begin(), some->end());
  }
  std::sort(names.begin(), names.end());
  std::string listed;
  for (const std::string& name : names) listed += (listed.empty() ? "" : ", ") + name;
  CHECK(known_mongodb_options() == listed);
  refused("nope=1", "unknown option; known are " + listed);
  for (const std::string& name : kNever) refused(name + "=", "cannot be used");
}

TEST_CASE("an option is shown as it is, a secret one by its name", "[connection_string]") {
  for (const auto* names : {&kWords, &kBooleans, &kNumbers, &kInRange, &kLimited, &kNever}) {
    for (const std::string& name : *names) {
      CHECK(redacted_mongodb_option(name + "=a=b") == name + "=a=b");
    }
  }
  for (const std::string& name : kSecrets) {
    CHECK(redacted_mongodb_option(name + "=a=b") == name + "=***");
  }
  CHECK(redacted_mongodb_option("password=x") == "***");
}

TEST_CASE("each part of a MongoDB string is taken up to its limit", "[connection_string]") {
  good("mongodb://h:1");
  good("mongodb://h:65535,i,j:2");
  bad("mongodb://h:65536", "the port is not a number from 1 to 65535");
  bad("mongodb://h,i:0", "the port");
  good("mongodb://h/" + std::string(63, 'd'));
  bad("mongodb://h/" + std::string(64, 'd'), "database");
  for (const char sign : "/\\. \"$*<>:|@"s) {
    if (sign != ' ') bad("mongodb://h/a"s + sign, "database");
  }
  good("mongodb://!:!@h/");
  bad("mongodb://h\x7f", "blanks or control characters");
  bad("mongodb://h ", "blanks or control characters");
}

TEST_CASE("the database that a replica set does not copy is refused", "[connection_string][R1]") {
  for (const std::string name : {"local", "%6cocal", "loca%6C", "%6c%6f%63%61%6c"}) {
    bad("mongodb://h/" + name, "a fail-over would forget its locks");
    bad("mongodb://h,i/" + name + "?replicaSet=rs", "a fail-over would forget its locks");
  }
  for (const std::string name : {"locals", "loca", "Local", "config", "%6c", ""}) {
    good("mongodb://h/" + name);
  }
}

TEST_CASE("a percent sign is followed by two hexadecimal digits, everywhere",
          "[connection_string]") {
  good("mongodb://%25%0aF:%AF@h%2d/%20?appName=%00");
  for (const std::string piece : {"%", "%2", "%2g", "%g2", "%25%", "%25%2", "%%2525", "a%2"}) {
    bad("mongodb://" + piece + "@h/", "not percent-encoded");
    bad("mongodb://u:" + piece + "@h/", "not percent-encoded");
    bad("mongodb://h" + piece + "/", "a host has a '%' without two hexadecimal digits");
    bad("mongodb://h/" + piece, "database");
    bad("mongodb://h/?appName=" + piece, "an option has a '%'");
  }
}

TEST_CASE("user and password have no sign that must be encoded", "[connection_string]") {
  good("mongodb://u:@h");
  good("mongodb://u@h");
  bad("mongodb://u:p:q@h", "not percent-encoded");
  for (const char sign : "#[]@"s) bad("mongodb://u:a"s + sign + "b@h", "not percent-encoded");
  bad("mongodb://@h", "the user before '@' is empty");
  bad("mongodb://:p@h", "the user before '@' is empty");
}

TEST_CASE("an IPv6 address stands in brackets, and a port may follow", "[connection_string]") {
  good("mongodb://[::1]");
  for (const std::string interface : {"eth0", "ab", "br-lan.5", "x_y~z"}) {
    good("mongodb://[fe80::1%25" + interface + "]:27017");
  }
  for (const std::string zone : {"%25", "%25eth0%25", "%25a%30", "%25a:b", "%25a/b", "eth0"}) {
    bad("mongodb://[fe80::1" + zone + "]", "an IPv6 address is malformed");
  }
  bad("mongodb://[%25a:b]", "an IPv6 address is malformed");
  bad("mongodb://[::1]:", "the port");
  bad("mongodb://[::1]:0", "the port");
  bad("mongodb://[::1]:65536", "the port");
  bad("mongodb://[::1]x", "only ':PORT' can follow an IPv6 address");
  bad("mongodb://[1.2.3.4]", "an IPv6 address is malformed");
  bad("mongodb://[", "an IPv6 address is malformed");
  bad("mongodb://a:b:c", "a host has two ':'");
}

TEST_CASE("a Unix socket is a path that ends in .sock", "[connection_string]") {
  good("mongodb://%2Ftmp%2Fa.sock");
  good("mongodb://%2ftmp%2fa.sock,h");
  bad("mongodb://%2Ftmp%2Fa", "must be a path that ends in .sock");
}

TEST_CASE("mongodb+srv takes one host of three parts", "[connection_string]") {
  good("mongodb+srv://a.b.c");
  good("mongodb+srv://a.b.c.d/?directConnection=false");
  bad("mongodb+srv://b.c", "at least three parts");
  bad("mongodb+srv://a.b.c,d", "one host name without a port");
  bad("mongodb+srv://a.b.c:1", "one host name without a port");
  bad("mongodb+srv://a.b.c/?tls=true&directConnection=true", "cannot be used with mongodb+srv://");
  good("mongodb://h/?directConnection=true");
}

TEST_CASE("options follow a slash, each of them sound", "[connection_string]") {
  good("mongodb://h/?");
  good("mongodb://h/?tls=true&w=majority");
  bad("mongodb://h?tls=true", "a '/' is missing before '?'");
  bad("mongodb://h/?tls=true&w=1", "can only be majority");
  bad("mongodb://h/?w=1&tls=true", "can only be majority");
  bad("mongodb://h/?tls=true&", "unknown option");
}

TEST_CASE("a redacted string keeps each part in its place", "[connection_string]") {
  for (const std::string same :
       {"mongodb://h", "mongodb://h/", "mongodb://h/db",
        "mongodb://u@h:1,i:2/db?tls=true&w=majority", "mongodb://h/?tls=true"}) {
    CHECK(redacted_uri(same) == same);
  }
  CHECK(redacted_uri("mongodb://u:p@h/db?x=1") == "mongodb://u:***@h/db?***");
  CHECK(redacted_uri("mongodb://u:@h") == "mongodb://u:***@h");
}

TEST_CASE("a malformed string shows its scheme, and what cannot be a secret",
          "[connection_string]") {
  CHECK(redacted_malformed_uri("mongodb://h:1/db?w=1") == "mongodb://h:1/db?w=1");
  CHECK(redacted_malformed_uri("mongodb://u:p@h:0/db?w=1") == "mongodb://***@h:0/db?w=1");
  CHECK(redacted_malformed_uri("mongodb://a@b@h/") == "mongodb://***@h/");
  CHECK(redacted_malformed_uri("@h") == "***@h");
  CHECK(redacted_malformed_uri("mongodb://u:word") == "mongodb://***");
  CHECK(redacted_malformed_uri("mongodb://u:word@h?x=@y") == "mongodb://***");
  CHECK(redacted_malformed_uri("mongodb://[fe::x]:1") == "mongodb://[fe::x]:1");
  CHECK(redacted_malformed_uri("mongodb://h:1,u:word") == "mongodb://***");
  CHECK(redacted_malformed_uri("mongodb://h:27017") == "mongodb://h:27017");
}

TEST_CASE("a number that is no port may be a password, and is not shown", "[connection_string]") {
  for (const std::string digits : {"20260101", "65536", "0", "00000", "000080", "1:20260101"}) {
    CAPTURE(digits);
    CHECK(redacted_malformed_uri("mongodb://ann:" + digits) == "mongodb://***");
    CHECK(redacted_malformed_uri("mongodb://h:1,ann:" + digits + "/db") == "mongodb://***");
    CHECK(redacted_malformed_uri("mirrored+mongodb://ann:" + digits + ",b,c/") ==
          "mirrored+mongodb://***");
  }
  // No port follows the host of an SRV record.
  CHECK(redacted_malformed_uri("mongodb+srv://ann:4711") == "mongodb+srv://***");
  CHECK(redacted_malformed_uri("mongodb://a:65535,b:,c:1:2,d") == "mongodb://a:65535,b:,c:1:2,d");
}
