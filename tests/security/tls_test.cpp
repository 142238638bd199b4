#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "distlock/stores.h"
#include "mongo/attempts.h"
#include "security/secured.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

// Never opened, and for this reason. On a machine that stands still the driver may know none.
void check_refused(const std::string& uri, const std::string& reason) {
  INFO(uri);
  wait_until(reason, [&] {
    std::string message;
    REQUIRE(failure_of([&] { open_store(ConnectionString(uri)); }, &message));
    return message.find(reason) != message.npos;
  });
}

void check_works(const std::string& uri) {
  INFO(uri);
  const auto store = open_store(ConnectionString(uri));
  CHECK(store->claim("jobs", FromAbsent{}, our_claim(*store)));
  CHECK(store->release("jobs", kOurs) == ReleaseResult::freed);
}

std::string by_certificate(const Secured& secured, const std::string& file) {
  return secured.uri_by("authMechanism=MONGODB-X509&authSource=$external" +
                        (file.empty() ? "" : "&tlsCertificateKeyFile=" + secured.file(file)));
}

}  // namespace

TEST_CASE("a server whose certificate is sound is believed, and its user's password",
          "[security]") {
  const Secured secured;
  check_works(secured.uri());
}

TEST_CASE("a server with a wrong name, a stranger's authority or an old certificate is refused",
          "[security]") {
  const Secured secured;
  check_refused(replaced(secured.uri(), "127.0.0.1", "localhost"), "hostname mismatch");
  check_refused(replaced(secured.uri(), "authority.pem", "stranger.pem"), "certificate verify");
  check_refused(required_variable("DISTLOCK_MONGODB_EXPIRED_URI"), "certificate has expired");
}

TEST_CASE("a wrong name is taken where the string allows just that", "[security]") {
  const Secured secured;
  const std::string by_name = replaced(secured.uri(), "127.0.0.1", "localhost");
  check_works(by_name + "&tlsAllowInvalidHostnames=true");
  const std::string stranger = replaced(secured.uri(), "authority.pem", "stranger.pem");
  check_refused(stranger + "&tlsAllowInvalidHostnames=true", "certificate verify");
}

TEST_CASE("a stranger's authority is taken where the string allows just that", "[security]") {
  const Secured secured;
  const std::string stranger = replaced(secured.uri(), "authority.pem", "stranger.pem");
  check_works(stranger + "&tlsAllowInvalidCertificates=true");
}

TEST_CASE("an X.509 user is known by its certificate, also after a lost connection", "[security]") {
  const Secured secured;
  secured.server().run(json(R"({"create": "locks"})"));
  secured.server().run("$external", json(R"({"updateUser": "CN=ann,OU=clients,O=distlock",)"
                                         R"("roles": [{"role": "readWrite", "db": ")" +
                                         secured.server().database() + R"("}]})"));
  const auto store = open_store(ConnectionString(by_certificate(secured, "client.pem")));
  CHECK(store->claim("jobs", FromAbsent{}, our_claim(*store)));
  secured.server().admin(json(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},)"
                              R"("data": {"failCommands": ["findAndModify"],)"
                              R"("closeConnection": true, "appName": "distlock"}})"));
  CHECK(failure_of([&] { store->ping("db7"); }) == Errc::outcome_unknown);
  wait_until("the connection's return", [&] { return !failure_of([&] { store->ping("db7"); }); });
  CHECK(store->release("jobs", kOurs) == ReleaseResult::freed);
}

TEST_CASE("an X.509 user without a certificate of the server's authority is refused",
          "[security]") {
  const Secured secured;
  const auto refusal = [&](const std::string& file) {
    return failure_of(
        [&] { open_store(ConnectionString(by_certificate(secured, file)), {.call_limit = 20s}); });
  };
  CHECK(refusal("strange-client.pem") == Errc::not_applied);
  CHECK(refusal("") == Errc::permission_denied);
}

TEST_CASE("a key with a password is opened by it, and refused by another that is not shown",
          "[security]") {
  const Secured secured;
  const std::string uri = secured.uri() +
                          "&tlsCertificateKeyFile=" + secured.file("locked-client.pem") +
                          "&tlsCertificateKeyFilePassword=";
  check_works(uri + "a%25key%26word");
  std::string message;
  const ConnectionString wrong(uri + "another%25word");
  CHECK(failure_of([&] { open_store(wrong, {.call_limit = 20s}); }, &message) ==
        Errc::invalid_argument);
  CHECK_THAT(message, Catch::Contains("the password of its key") && !Catch::Contains("another"));
  const ConnectionString without(replaced(uri, "&tlsCertificateKeyFilePassword=", ""));
  CHECK(failure_of([&] { open_store(without, {.call_limit = 20s}); }) == Errc::invalid_argument);
}

TEST_CASE("a certificate without its key is refused, and not waited for", "[security]") {
  const Secured secured;
  const TemporaryFolder folder;
  std::ifstream both(secured.file("client.pem"));
  std::string text{std::istreambuf_iterator<char>(both), {}};
  const std::string file = folder.path() / "me.pem";
  std::ofstream(file) << text.substr(text.find("-----BEGIN CERTIFICATE"));
  const std::string uri = secured.uri() + "&tlsCertificateKeyFile=" + file;
  CHECK(failure_of([&] { open_store(ConnectionString(uri), {.call_limit = 20s}); }) ==
        Errc::invalid_argument);
}

TEST_CASE("a stranger's authority and a wrong name are taken where the string turns checks off",
          "[security]") {
  const Secured secured;
  const std::string by_name = replaced(secured.uri(), "127.0.0.1", "localhost");
  check_works(replaced(by_name, "authority.pem", "stranger.pem") + "&tlsInsecure=true");
}
