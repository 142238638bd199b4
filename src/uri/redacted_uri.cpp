#include "uri/redacted_uri.h"

#include <algorithm>

#include "text.h"
#include "uri/mongodb_uri_options.h"
#include "uri/uri_pieces.h"

namespace distlock {
namespace {

constexpr const char* kHidden = "***";

std::string redacted_options(std::string_view options) {
  std::string shown;
  for (const std::string_view option : split(options, '&')) {
    if (!shown.empty()) shown += '&';
    shown += redacted_mongodb_option(option);
  }
  return shown;
}

std::string redacted_userinfo(const UriPieces& pieces) {
  if (!pieces.has_userinfo) return "";
  const std::size_t colon = pieces.userinfo.find(':');
  std::string shown(pieces.userinfo.substr(0, colon));
  if (colon != std::string_view::npos) shown += std::string(":") + kHidden;
  return shown + '@';
}

std::string after_userinfo(const UriPieces& pieces) {
  std::string shown(pieces.hosts);
  if (pieces.has_slash) shown += '/' + std::string(pieces.database);
  if (pieces.has_options) shown += '?' + redacted_options(pieces.options);
  return shown;
}

// A longer one is no port that anybody writes, whatever its value.
bool may_be_a_port(std::string_view text) {
  constexpr std::size_t kDigitsMost = 5;
  return text.empty() || (text.size() <= kDigitsMost && is_port(text));
}

// Whether a "port" among the hosts is none, as when the host was forgotten: mongodb://user:word.
bool has_word_for_a_port(const UriPieces& pieces) {
  for (const std::string_view host : split(pieces.hosts, ',')) {
    const std::size_t colon = host.find(':');
    if (host.starts_with('[') || colon == std::string_view::npos) continue;
    if (pieces.scheme.ends_with("+srv://")) return true;  // It takes no port.
    const auto ports = split(host.substr(colon + 1), ':');
    if (!std::all_of(ports.begin(), ports.end(), may_be_a_port)) return true;
  }
  return false;
}

}  // namespace

std::string redacted_uri(std::string_view uri) {
  const UriPieces pieces = pieces_of(uri);
  return escaped(std::string(pieces.scheme) + redacted_userinfo(pieces) + after_userinfo(pieces));
}

std::string redacted_malformed_uri(std::string_view text) {
  const std::string scheme(pieces_of(text).scheme);
  // Without its slashes it has no parts, of which one may be a password.
  if (scheme.empty() && text.starts_with("mongodb")) return kHidden;
  // The text behind it may be a secret or its end, and so may the text before.
  if (text.find('#') != std::string_view::npos) return escaped(scheme) + kHidden;
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) {
    const UriPieces pieces = pieces_of(text);
    if (has_word_for_a_port(pieces)) return escaped(scheme) + kHidden;
    return escaped(scheme + after_userinfo(pieces));
  }
  // An `@` among the options may stand in the middle of a secret.
  if (text.find('?') < at) return escaped(scheme) + kHidden;
  return escaped(scheme) + kHidden + escaped("@" + after_userinfo(pieces_of(text.substr(at + 1))));
}

}  // namespace distlock
