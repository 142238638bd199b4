#include "uri/mongodb_uri_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "uri/uri_pieces.h"

namespace distlock {
namespace {

enum class Allowed {
  any,      // Any value but the empty one.
  secret,   // The same, and never shown.
  boolean,  // true or false
  number,   // A whole number, not negative.
  only,     // Only the values of `note`, separated by `|`: no other is as safe.
  never,    // `note` says why.
};

struct Range {
  int least = 0;
  int most = 999'999'999;
};

struct Option {
  std::string_view name;
  Allowed allowed;
  std::string_view note = {};
  Range range = {};  // Of a number.
};

constexpr std::string_view kRevoked = "the library cannot turn checks of revoked certificates off";

// Of libmongoc 1.23. Options that would weaken the guarantees are here too, to say why they are
// refused: the library always writes with w=majority and journal=true, on the primary.
constexpr std::array kOptions = std::to_array<Option>({
    {"appName", Allowed::any},
    {"authMechanism", Allowed::any},
    {"authMechanismProperties", Allowed::secret},
    {"authSource", Allowed::any},
    {"compressors", Allowed::any},
    {"connectTimeoutMS", Allowed::number},
    {"directConnection", Allowed::boolean},
    {"heartbeatFrequencyMS", Allowed::number, {}, {.least = 500}},
    {"journal", Allowed::only, "true"},
    {"localThresholdMS", Allowed::number},
    {"maxPoolSize", Allowed::number},
    {"readConcernLevel", Allowed::only, "majority|linearizable"},
    {"readPreference", Allowed::only, "primary"},
    {"replicaSet", Allowed::any},
    {"retryReads", Allowed::boolean},
    {"retryWrites", Allowed::boolean},
    {"serverSelectionTimeoutMS", Allowed::number},
    {"serverSelectionTryOnce", Allowed::boolean},
    {"socketCheckIntervalMS", Allowed::number},
    {"socketTimeoutMS", Allowed::number},
    {"srvMaxHosts", Allowed::number},
    {"srvServiceName", Allowed::any},
    {"ssl", Allowed::boolean},
    {"tls", Allowed::boolean},
    {"tlsAllowInvalidCertificates", Allowed::boolean},
    {"tlsAllowInvalidHostnames", Allowed::boolean},
    {"tlsCAFile", Allowed::any},
    {"tlsCertificateKeyFile", Allowed::any},
    {"tlsCertificateKeyFilePassword", Allowed::secret},
    {"tlsInsecure", Allowed::boolean},
    {"w", Allowed::only, "majority"},
    {"waitQueueTimeoutMS", Allowed::number},
    {"wtimeoutMS", Allowed::number},
    {"zlibCompressionLevel", Allowed::number, {}, {.most = 9}},
    {"loadBalanced", Allowed::never, "a load balancer hides which member's clock stamped a ping"},
    {"maxStalenessSeconds", Allowed::never, "reads go to the primary"},
    {"readPreferenceTags", Allowed::never, "reads go to the primary"},
    {"timeoutMS", Allowed::never,
     "the driver does not support it; write serverSelectionTimeoutMS, connectTimeoutMS or "
     "socketTimeoutMS"},
    {"tlsDisableCertificateRevocationCheck", Allowed::never, kRevoked},
    {"tlsDisableOCSPEndpointCheck", Allowed::never, kRevoked},
});

const Option* find(std::string_view name) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(), [&](const Option& option) {
    return is_option(name, option.name);
  });
  return found == kOptions.end() ? nullptr : &*found;
}

bool is_number(std::string_view value, const Range& range) {
  constexpr std::size_t kDigitsMax = 9;  // The driver keeps them in 32 bits.
  const bool digits = value.find_first_not_of("0123456789") == std::string_view::npos;
  if (value.empty() || value.size() > kDigitsMax || !digits) return false;
  int number = 0;
  const char* const end = value.data() + value.size();
  std::from_chars(value.data(), end, number);
  return range.least <= number && number <= range.most;
}

bool is_one_of(std::string_view value, std::string_view choices) {
  for (std::size_t at = 0; at <= choices.size();) {
    const std::size_t end = std::min(choices.find('|', at), choices.size());
    if (value == choices.substr(at, end - at)) return true;
    at = end + 1;
  }
  return false;
}

std::string choices_in_words(std::string_view choices) {
  std::string words(choices);
  const std::size_t bar = words.find('|');
  if (bar != std::string::npos) words.replace(bar, 1, " or ");
  return words;
}

}  // namespace

std::string problem_of_mongodb_option(std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view{} : option.substr(equals + 1);
  const Option* known = find(name);
  // Not named here: it may be a piece of a password.
  if (known == nullptr) return "unknown option; known are " + known_mongodb_options();
  const std::string shown = "option " + std::string(known->name);
  if (known->allowed == Allowed::never) {
    return shown + " cannot be used: " + std::string(known->note);
  }
  if (value.empty()) return shown + " has no value; write " + std::string(known->name) + "=VALUE";
  if (known->allowed == Allowed::boolean && !is_one_of(value, "true|false")) {
    return shown + " must be true or false";
  }
  if (known->allowed == Allowed::number && !is_number(value, known->range)) {
    return shown + " must be a whole number from " + std::to_string(known->range.least) + " to " +
           std::to_string(known->range.most);
  }
  if (known->allowed == Allowed::only && !is_one_of(value, known->note)) {
    return shown + " can only be " + choices_in_words(known->note) +
           ": a lock must not be lost in a fail-over, so the library always uses journaled "
           "majority writes on the primary";
  }
  return "";
}

bool is_mongodb_option(std::string_view name) { return find(name) != nullptr; }

std::string redacted_mongodb_option(std::string_view option) {
  const Option* known = find(option.substr(0, option.find('=')));
  if (known == nullptr) return "***";
  if (known->allowed == Allowed::secret) return std::string(known->name) + "=***";
  return std::string(option);
}

std::string known_mongodb_options() {
  std::string names;
  for (const Option& option : kOptions) {
    if (option.allowed == Allowed::never) continue;
    names += (names.empty() ? "" : ", ") + std::string(option.name);
  }
  return names;
}

}  // namespace distlock
