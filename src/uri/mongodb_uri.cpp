#include "uri/mongodb_uri.h"

#include <algorithm>

#include "uri/mongodb_uri_options.h"
#include "uri/uri_pieces.h"

namespace distlock {
namespace {

constexpr std::string_view kSrv = "mongodb+srv://";

bool well_encoded(std::string_view text) {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const std::string_view digits = text.substr(at + 1, 2);
    if (digits.size() != 2 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      return false;
    }
  }
  return true;
}

bool has_characters_of(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

bool has_controls_or_blanks(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c <= ' ' || c == 127; });
}

std::string problem_of_userinfo(std::string_view userinfo) {
  constexpr std::string_view kEncode =
      "; write % : / ? # [ ] @ in user and password as %25 %3A %2F %3F %23 %5B %5D %40";
  if (userinfo.empty() || userinfo.front() == ':') return "the user before '@' is empty";
  if (std::count(userinfo.begin(), userinfo.end(), ':') > 1 || !well_encoded(userinfo) ||
      has_characters_of(userinfo, "/?#[]@")) {
    const bool several = has_characters_of(userinfo, ",");
    return "user and password are not percent-encoded" + std::string(kEncode) +
           (several ? "; they stand once, before the first host" : "");
  }
  return "";
}

std::string problem_of_port(std::string_view port) {
  return is_port(port) ? "" : "the port is not a number from 1 to 65535";
}

// Of ASCII, whatever the program's locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// With the name of an interface behind it, or without.
bool is_ipv6(std::string_view text) {
  constexpr std::string_view kZone = "%25";
  const std::size_t end = std::min(text.find(kZone), text.size());
  const std::string_view address = text.substr(0, end);
  if (!has_characters_of(address, ":") ||
      address.find_first_not_of("0123456789abcdefABCDEF:.%") != address.npos) {
    return false;
  }
  if (end == text.size()) return true;
  const std::string_view zone = text.substr(end + kZone.size());
  return !zone.empty() && std::all_of(zone.begin(), zone.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
  });
}

std::string problem_of_host(std::string_view host) {
  if (host.empty()) return "a host is missing; write mongodb://HOST:PORT";
  if (!well_encoded(host)) return "a host has a '%' without two hexadecimal digits";
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    const std::string_view address = host.substr(1, end == host.npos ? end : end - 1);
    if (end == host.npos || !is_ipv6(address)) {
      return "an IPv6 address is malformed; write mongodb://[::1]:27017";
    }
    const std::string_view port = host.substr(end + 1);
    if (port.empty()) return "";
    return port.front() == ':' ? problem_of_port(port.substr(1))
                               : "only ':PORT' can follow an IPv6 address";
  }
  if (host.starts_with("%2F") || host.starts_with("%2f")) {
    return host.ends_with(".sock") ? "" : "a Unix socket must be a path that ends in .sock";
  }
  if (std::count(host.begin(), host.end(), ':') > 1) {
    return "a host has two ':'; write an IPv6 address in brackets, as in mongodb://[::1]:27017";
  }
  const std::size_t colon = host.find(':');
  if (colon == 0) return "a host is missing before ':'";
  return colon == host.npos ? "" : problem_of_port(host.substr(colon + 1));
}

std::string problem_of_srv_host(std::string_view hosts) {
  if (hosts.find(',') != hosts.npos || hosts.find(':') != hosts.npos) {
    return "mongodb+srv:// takes one host name without a port";
  }
  if (std::count(hosts.begin(), hosts.end(), '.') < 2) {
    return "mongodb+srv:// takes a host name of at least three parts, as in db.example.com";
  }
  return "";
}

std::string problem_of_database(const UriPieces& pieces) {
  constexpr std::size_t kBytesMax = 63;
  if (!well_encoded(pieces.database) || pieces.database.size() > kBytesMax ||
      has_characters_of(pieces.database, "/\\. \"$*<>:|@")) {
    const bool several = has_characters_of(pieces.database, ",");
    return std::string("the database's name is malformed; write mongodb://HOST:PORT/DATABASE") +
           (several ? ": one database, behind the last host, is that of all" : "");
  }
  if (decoded(pieces.database) == "local") {
    return "the database local is of one server alone, so that a fail-over would forget its locks; "
           "name another";
  }
  return "";
}

bool has_secret(std::string_view options) {
  const auto all = split(options, '&');
  return std::any_of(all.begin(), all.end(), [](std::string_view option) {
    const std::string_view name = option.substr(0, option.find('='));
    return is_mongodb_option(name) && redacted_mongodb_option(option) != option;
  });
}

// "option NAME: " where that may be shown. An unknown name may be a piece of a password that was
// not encoded: of the user's, which then has an `@` behind it, or of another option's.
std::string named(std::string_view option, std::string_view options) {
  constexpr std::size_t kNameMost = 40;
  const std::string_view name = option.substr(0, option.find('='));
  const bool plain = !name.empty() && name.size() < option.size() && name.size() <= kNameMost &&
                     std::all_of(name.begin(), name.end(), is_letter);
  if (!plain || is_mongodb_option(name) || options.find('@') != options.npos) return "";
  return has_secret(options) ? "" : "option " + std::string(name) + ": ";
}

std::string problem_of_options(const UriPieces& pieces) {
  if (!pieces.has_options) return "";
  if (!pieces.has_slash) return "a '/' is missing before '?'; write mongodb://HOST/?OPTIONS";
  if (!well_encoded(pieces.options)) return "an option has a '%' without two hexadecimal digits";
  if (pieces.options.empty()) return "";
  const bool srv = pieces.scheme == kSrv;
  for (const std::string_view option : split(pieces.options, '&')) {
    if (std::string problem = problem_of_mongodb_option(option); !problem.empty()) {
      return named(option, pieces.options) + problem;
    }
    if (srv && is_option(option, "directConnection") && option.ends_with("=true")) {
      return "option directConnection cannot be used with mongodb+srv://";
    }
  }
  return "";
}

std::string problem_of_hosts(const UriPieces& pieces) {
  if (pieces.scheme == kSrv) {
    if (std::string problem = problem_of_srv_host(pieces.hosts); !problem.empty()) return problem;
  }
  for (const std::string_view host : split(pieces.hosts, ',')) {
    if (std::string problem = problem_of_host(host); !problem.empty()) return problem;
  }
  return "";
}

}  // namespace

std::string problem_of_mongodb_uri(std::string_view uri) {
  const UriPieces pieces = pieces_of(uri);
  if (has_controls_or_blanks(uri)) return "it has blanks or control characters";
  if (pieces.has_userinfo) {
    if (std::string problem = problem_of_userinfo(pieces.userinfo); !problem.empty()) {
      return problem;
    }
  }
  if (has_characters_of(uri, "#")) return "it has a '#'; write %23 where it belongs to a value";
  for (const auto problem_of : {problem_of_hosts, problem_of_database, problem_of_options}) {
    if (std::string problem = problem_of(pieces); !problem.empty()) return problem;
  }
  return "";
}

}  // namespace distlock
