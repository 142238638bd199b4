#include "uri/mirrored_string.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>

#include "text.h"
#include "uri/mongodb_uri.h"
#include "uri/mongodb_uri_options.h"
#include "uri/redacted_uri.h"
#include "uri/uri_pieces.h"

namespace distlock {
namespace {

constexpr std::string_view kMirroredPrefix = "mirrored+";
constexpr std::string_view kOfHosts = "mongodb://";
constexpr std::string_view kOfPaths = "sqlite:";
constexpr std::string_view kDirect = "directConnection";
constexpr std::string_view kMirroredForms =
    "write mirrored+mongodb://HOST,HOST,HOST/ or mirrored+sqlite:PATH,PATH,PATH";

// It may be called as a scheme, and has a port then.
bool host_names_a_kind(std::string_view host) {
  const std::size_t colon = host.find(':');
  const bool has_port = colon != std::string_view::npos && colon + 1 < host.size() &&
                        std::isdigit(static_cast<unsigned char>(host[colon + 1])) != 0;
  return names_a_kind(host) && !has_port;
}

template <class Members>
std::string problem_of_kinds(const Members& members, bool (*names)(std::string_view)) {
  if (std::none_of(members.begin(), members.end(), names)) return "";
  return "a member has a scheme of its own: all members are of one kind, which stands once, in "
         "front; " +
         std::string(kMirroredForms);
}

std::string problem_of_number(std::size_t members) {
  constexpr std::size_t kMost = 9;
  if (members % 2 == 1 && members > 1 && members <= kMost) return "";
  const std::string named =
      "it names " + std::to_string(members) + (members == 1 ? " member" : " members");
  return named +
         "; name 3, 5, 7 or 9: an even number bears no more members away than one less, and one "
         "member is no mirrored store";
}

// Only a link-local address needs the name of an interface, `zone`.
std::string one_spelling(const in6_addr& address, const std::string& zone) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&address) != 0)
    return inet_ntop(AF_INET, &address.s6_addr[12], text.data(), text.size());
  const std::string plain = inet_ntop(AF_INET6, &address, text.data(), text.size());
  return IN6_IS_ADDR_LINKLOCAL(&address) != 0 ? plain + zone : plain;
}

// The text of an IP address in one spelling, or `name`. Those that mean this host are one.
std::string one_spelling(const std::string& name) {
  in_addr four{};
  in6_addr six{};
  std::array<char, INET_ADDRSTRLEN> text{};
  const std::size_t zone = std::min(name.find('%'), name.size());
  std::string address = name;
  if (inet_aton(name.c_str(), &four) != 0) {
    address = inet_ntop(AF_INET, &four, text.data(), text.size());
  } else if (inet_pton(AF_INET6, name.substr(0, zone).c_str(), &six) == 1) {
    address = one_spelling(six, name.substr(zone));
  }
  const bool here =
      address == "127.0.0.1" || address == "::1" || address == "0.0.0.0" || address == "::";
  return here ? "localhost" : address;
}

// One text for all spellings of one address, as far as a text can tell.
std::string address_of(std::string_view encoded) {
  constexpr unsigned kDefaultPort = 27017;
  std::string host = decoded(encoded);
  const bool socket = host.starts_with('/');
  if (socket) return host;
  const bool in_brackets = host.starts_with('[');
  const std::size_t end = in_brackets ? host.find(']') : host.find(':');
  std::string name = in_lower_case(host.substr(in_brackets ? 1 : 0, in_brackets ? end - 1 : end));
  if (name.ends_with('.')) name.pop_back();
  const std::size_t colon = host.find(':', in_brackets ? end : 0);
  unsigned port = kDefaultPort;
  if (colon != std::string_view::npos) {
    std::from_chars(host.data() + colon + 1, host.data() + host.size(), port);
  }
  return one_spelling(name) + ' ' + std::to_string(port);
}

template <class Members, class Spelling>
std::string problem_of_twins(const Members& members, const Spelling& one) {
  std::set<std::string> known;
  for (const auto& member : members) {
    if (!known.insert(one(member)).second) {
      return "two of its members are one store: name each of them once";
    }
  }
  return "";
}

std::string problem_of_option(std::string_view option) {
  if (is_option(option, "replicaSet")) {
    return "option replicaSet cannot be used: each member is a standalone server, and a replica "
           "set needs no mirror";
  }
  if (is_option(option, kDirect) && !option.ends_with("=true")) {
    return "option directConnection can only be true: each member is one server";
  }
  return "";
}

std::string mongodb_member(const UriPieces& pieces, std::string_view host) {
  std::string member(kOfHosts);
  if (pieces.has_userinfo) member += std::string(pieces.userinfo) + '@';
  member += std::string(host) + '/' + std::string(pieces.database) + '?';
  for (const std::string_view option : split(pieces.options, '&')) {
    if (!option.empty() && !is_option(option, kDirect)) member += std::string(option) + '&';
  }
  return member + "directConnection=true";
}

// A list of known options ends with those of the whole store.
std::string of_the_whole_store(const UriPieces& pieces) {
  if (!pieces.has_options || pieces.options.empty()) return "";
  const auto options = split(pieces.options, '&');
  const bool known = std::all_of(options.begin(), options.end(), [](std::string_view option) {
    return is_mongodb_option(option.substr(0, option.find('=')));
  });
  return known ? "" : ", and of a mirrored store " + std::string(kLongestTakeover);
}

MirroredString mongodb_members(std::string_view uri) {
  const UriPieces pieces = pieces_of(uri);
  const auto hosts = split(pieces.hosts, ',');
  if (std::string problem = problem_of_kinds(hosts, host_names_a_kind); !problem.empty())
    return {{}, problem};
  if (std::string problem = problem_of_mongodb_uri(uri); !problem.empty()) {
    return {{}, problem + of_the_whole_store(pieces)};
  }
  if (std::string problem = problem_of_number(hosts.size()); !problem.empty()) return {{}, problem};
  if (std::string problem = problem_of_twins(hosts, address_of); !problem.empty()) {
    return {{}, problem};
  }
  for (const std::string_view option : split(pieces.options, '&')) {
    if (std::string problem = problem_of_option(option); !problem.empty()) return {{}, problem};
  }
  MirroredString named;
  for (const std::string_view host : hosts) named.members.push_back(mongodb_member(pieces, host));
  return named;
}

// At commas. A backslash before a comma or another backslash takes that character as it is.
std::vector<std::string> paths_in(std::string_view text) {
  std::vector<std::string> paths(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
    if (escape) {
      paths.back() += text[++i];
    } else if (text[i] == ',') {
      paths.emplace_back();
    } else {
      paths.back() += text[i];
    }
  }
  return paths;
}

MirroredString sqlite_members(std::string_view rest) {
  const std::size_t question = rest.find('?');
  const std::vector<std::string> paths = paths_in(rest.substr(0, question));
  if (std::string problem = problem_of_kinds(paths, names_a_kind); !problem.empty())
    return {{}, problem};
  if (std::count(paths.begin(), paths.end(), "") > 0) {
    return {{}, "a member's path is empty; " + std::string(kMirroredForms)};
  }
  if (const std::string problem = problem_of_number(paths.size()); !problem.empty()) {
    return {{}, problem + "; a comma in a path is written \\,"};
  }
  const auto normal = [](const std::string& path) {
    return std::filesystem::path(path).lexically_normal().string();
  };
  if (std::string problem = problem_of_twins(paths, normal); !problem.empty()) {
    return {{}, problem};
  }
  const std::string options(question == std::string_view::npos ? "" : rest.substr(question));
  if (!options.empty() && options != "?synchronous=full" && options != "?synchronous=off") {
    return {{},
            "the options after '?' are synchronous=full (the default) or synchronous=off, and " +
                std::string(kLongestTakeover) + "=NUMBER, with '&' between them"};
  }
  MirroredString named;
  for (const std::string& path : paths) {
    std::string member(kOfPaths);
    member += path;
    named.members.push_back(member += options);
  }
  return named;
}

}  // namespace

bool names_a_kind(std::string_view path) {
  constexpr std::array<std::string_view, 5> kSchemes{
      "sqlite:", "mongodb:", "mongodb+srv:", "memory:", "mirrored+"};
  return path.find("://") != std::string_view::npos ||
         std::any_of(kSchemes.begin(), kSchemes.end(),
                     [&](std::string_view scheme) { return path.starts_with(scheme); });
}

MirroredString members_of_mirrored(std::string_view text) {
  const std::string_view rest = text.substr(std::min(kMirroredPrefix.size(), text.size()));
  const bool of_hosts = rest.starts_with(kOfHosts);
  if (!of_hosts && !rest.starts_with(kOfPaths)) {
    return {{}, "it says not what its members are; " + std::string(kMirroredForms)};
  }
  MirroredOptions options = options_of_mirrored(rest);
  if (!options.problem.empty()) return {{}, options.problem};
  const std::string_view members = options.rest;
  MirroredString named =
      of_hosts ? mongodb_members(members) : sqlite_members(members.substr(kOfPaths.size()));
  named.options = std::move(options);
  return named;
}

std::string redacted_refused_mirrored(std::string_view text) {
  const std::string_view scheme = text.substr(0, kMirroredPrefix.size() + kOfPaths.size());
  if (!scheme.ends_with(kOfPaths)) return redacted_malformed_uri(text);
  const std::string_view paths = text.substr(scheme.size());
  const std::size_t question = paths.find('?');
  // Another store's connection string among the paths, password and all, or meant as one.
  const auto members = paths_in(paths.substr(0, question));
  if (paths.find("//") != std::string_view::npos || paths.find('@') != std::string_view::npos ||
      std::any_of(members.begin(), members.end(), names_a_kind)) {
    return std::string(scheme) + "***";
  }
  return escaped(text.substr(0, scheme.size() + std::min(question, paths.size()))) +
         (question == std::string_view::npos ? "" : "?***");
}

}  // namespace distlock
