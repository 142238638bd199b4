#include "cli/passwords.h"

#include <algorithm>

#include "text.h"

namespace distlock::cli {
namespace {

// `authority`: what stands between the `://` and the path.
bool has_password(std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  const std::size_t colon = authority.find(':');
  return at != authority.npos && colon != authority.npos && colon + 1 < at;
}

}  // namespace

std::size_t server_uri_in(std::string_view text) {
  const std::string plain = in_lower_case(text);
  std::size_t first = plain.npos;
  for (const std::string_view scheme : {"mongodb://", "mongodb+srv://", "mongo://"}) {
    first = std::min(first, plain.find(scheme));
  }
  return first;
}

bool may_show_a_password(std::string_view text) {
  const std::size_t at = server_uri_in(text);
  if (at == text.npos) return false;
  if (at == 0 || in_lower_case(text).starts_with("mirrored+")) return true;
  // A user, or an option, which may be a session's token.
  return text.find_first_of("@=", at) != text.npos;
}

bool has_address_with_a_password(std::string_view text) {
  constexpr std::string_view kBefore = "://";
  for (std::size_t at = text.find(kBefore); at != text.npos; at = text.find(kBefore)) {
    text.remove_prefix(at + kBefore.size());
    if (has_password(text.substr(0, text.find_first_of("/?# \t\n")))) return true;
  }
  return false;
}

}  // namespace distlock::cli
