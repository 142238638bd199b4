#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

#include "distlock/connection_string.h"
#include "distlock/error.h"
#include "text.h"

// Any text is a connection string, or `invalid_argument`; and neither what is shown of it nor the
// message depends on its password.

using namespace distlock;

namespace {

bool is_letter_or_digit(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

// The password, if it is one whatever its letters are.
std::string_view password_in(std::string_view text) {
  const auto scheme = text.find("://");
  const bool ours = text.starts_with("mongodb") || text.starts_with("sqlite:") ||
                    text.starts_with("mirrored+mongodb://") || text.starts_with("mirrored+sqlite:");
  if (!ours) return {};
  if (scheme == std::string_view::npos) return {};
  const auto begin = scheme + 3;
  const auto at = text.substr(0, text.find_first_of("/?", begin)).rfind('@');
  if (at == std::string_view::npos || at < begin) return {};
  const auto colon = text.substr(begin, at - begin).find(':');
  if (colon == std::string_view::npos) return {};
  const auto password = text.substr(begin + colon + 1, at - begin - colon - 1);
  const bool plain = std::all_of(password.begin(), password.end(), is_letter_or_digit);
  return plain ? password : std::string_view{};
}

std::string shown_of(std::string_view text) {
  try {
    const ConnectionString connection(text);
    if (connection.text() != text) std::abort();
    if (connection.kind() == StoreKind::sqlite && connection.path().empty()) std::abort();
    return connection.redacted();
  } catch (const Error& error) {
    if (error.errc() != Errc::invalid_argument) std::abort();
    return error.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string shown = shown_of(text);
  if (!is_utf8(shown)) std::abort();
  const std::string_view password = password_in(text);
  if (password.empty()) return 0;
  std::string another(text);
  another.replace(static_cast<std::size_t>(password.data() - text.data()), password.size(),
                  "another");
  if (shown_of(another) != shown) std::abort();
  return 0;
}
