#include "uri/uri_pieces.h"

#include <charconv>
#include <system_error>

#include "text.h"

namespace distlock {

UriPieces pieces_of(std::string_view text) {
  UriPieces pieces;
  const std::size_t colon = text.find("://");
  const std::size_t start = colon == std::string_view::npos ? 0 : colon + 3;
  pieces.scheme = text.substr(0, start);
  std::string_view rest = text.substr(start);
  std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  rest.remove_prefix(authority.size());
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    pieces.has_userinfo = true;
    pieces.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  pieces.hosts = authority;
  const std::size_t question = rest.find('?');
  pieces.has_options = question != std::string_view::npos;
  if (pieces.has_options) pieces.options = rest.substr(question + 1);
  pieces.has_slash = rest.starts_with('/');
  if (pieces.has_slash) pieces.database = rest.substr(0, question).substr(1);
  return pieces;
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

bool is_option(std::string_view option, std::string_view name) {
  // Not by the program's locale, which may know other pairs of letters.
  return in_lower_case(option.substr(0, option.find('='))) == in_lower_case(name);
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result += text[at];
    } else {
      result += static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16));
      at += 2;
    }
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace distlock
