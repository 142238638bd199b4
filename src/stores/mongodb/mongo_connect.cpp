#include "stores/mongodb/mongo_connect.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "stores/mongodb/mongo_forks.h"

namespace distlock {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Without memory of its own: no exception may get through libmongoc.
mongoc_stream_t* no_stream(bson_error_t* error, mongoc_error_code_t code, const char* what,
                           const char* of = "") {
  bson_set_error(error, MONGOC_ERROR_STREAM, code, "%s%s", what, of);
  return nullptr;
}

std::int64_t microseconds_of(std::int32_t ms) { return std::int64_t{ms} * 1000; }

std::int32_t ms_until(std::int64_t end) {
  const std::int64_t left = (end - bson_get_monotonic_time() + 999) / 1000;
  return static_cast<std::int32_t>(std::max<std::int64_t>(left, 0));
}

bool connects(mongoc_socket_t* socket, const sockaddr* address, socklen_t size,
              std::int64_t expires) {
  const WaitInMongoc wait;
  return mongoc_socket_connect(socket, address, size, expires) == 0;
}

// Null if it cannot be reached by then, on the driver's monotonic clock.
mongoc_stream_t* socket_to(int family, const sockaddr* address, socklen_t size,
                           std::int64_t expires) {
  mongoc_socket_t* socket = mongoc_socket_new(family, SOCK_STREAM, 0);
  if (socket == nullptr) return nullptr;
  if (connects(socket, address, size, expires))
    return with_waits_beside_forks(mongoc_stream_socket_new(socket));
  mongoc_socket_destroy(socket);
  return nullptr;
}

// None if the name of a host is not known.
Addresses addresses_of(const mongoc_host_list_t* host, bson_error_t* error) {
  addrinfo hints{};
  hints.ai_family = host->family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host->host, std::to_string(host->port).c_str(), &hints, &found) != 0)
    no_stream(error, MONGOC_ERROR_STREAM_NAME_RESOLUTION, "Failed to resolve ", host->host);
  return {found, freeaddrinfo};
}

// Each address has the same share of the time that is left: one that never answers leaves some
// for the others.
mongoc_stream_t* connect_tcp(const mongoc_host_list_t* host, const addrinfo* found,
                             std::int64_t expires, bson_error_t* error) {
  std::int64_t left = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) ++left;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next, --left) {
    const std::int64_t now = bson_get_monotonic_time();
    const std::int64_t until = now + (expires - now) / left;
    mongoc_stream_t* stream = socket_to(one->ai_family, one->ai_addr, one->ai_addrlen, until);
    if (stream != nullptr) return stream;
  }
  return no_stream(error, MONGOC_ERROR_STREAM_CONNECT,
                   "Failed to connect to target host: ", host->host_and_port);
}

mongoc_stream_t* connect_unix(const mongoc_host_list_t* host, std::int64_t expires,
                              bson_error_t* error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string_view path = host->host;
  mongoc_stream_t* stream = nullptr;
  if (path.size() < sizeof(address.sun_path)) {
    path.copy(address.sun_path, path.size());
    stream =
        socket_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address), expires);
  }
  if (stream != nullptr) return stream;
  return no_stream(error, MONGOC_ERROR_STREAM_CONNECT, "Failed to connect to UNIX domain socket ",
                   host->host);
}

bool wants_tls(const mongoc_uri_t* uri) {
  const char* mechanism = mongoc_uri_get_auth_mechanism(uri);
  return mongoc_uri_get_tls(uri) ||
         (mechanism != nullptr && std::string_view(mechanism) == "MONGODB-X509");
}

mongoc_ssl_opt_t tls_options(const mongoc_uri_t* uri) {
  const auto text = [&](const char* option) {
    return mongoc_uri_get_option_as_utf8(uri, option, nullptr);
  };
  const bool insecure = mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSINSECURE, false);
  mongoc_ssl_opt_t options{};
  options.pem_file = text(MONGOC_URI_TLSCERTIFICATEKEYFILE);
  options.pem_pwd = text(MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD);
  if (options.pem_pwd == nullptr) options.pem_pwd = "";  // Else OpenSSL asks on the terminal.
  options.ca_file = text(MONGOC_URI_TLSCAFILE);
  options.weak_cert_validation =
      mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSALLOWINVALIDCERTIFICATES, insecure);
  options.allow_invalid_hostname =
      mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSALLOWINVALIDHOSTNAMES, insecure);
  return options;
}

using Stream = std::unique_ptr<mongoc_stream_t, decltype(&mongoc_stream_destroy)>;

// Null if there are no descriptors.
Stream unconnected() {
  mongoc_socket_t* socket = mongoc_socket_new(AF_UNIX, SOCK_STREAM, 0);
  return {socket == nullptr ? nullptr : mongoc_stream_socket_new(socket), mongoc_stream_destroy};
}

constexpr int kAsClient = 1;

// Takes the plain stream over.
mongoc_stream_t* with_tls(mongoc_stream_t* plain, const mongoc_uri_t* uri,
                          const mongoc_host_list_t* host, std::int64_t expires,
                          bson_error_t* error) {
  mongoc_ssl_opt_t options = tls_options(uri);
  mongoc_stream_t* stream =
      mongoc_stream_tls_new_with_hostname(plain, host->host, &options, kAsClient);
  if (stream == nullptr) {
    mongoc_stream_destroy(plain);
    return no_stream(error, MONGOC_ERROR_STREAM_SOCKET, "Failed to initialize TLS");
  }
  if (mongoc_stream_tls_handshake_block(stream, host->host, ms_until(expires), error))
    return stream;
  mongoc_stream_destroy(stream);
  return nullptr;
}

}  // namespace

bool can_begin_tls(const mongoc_uri_t* uri) {
  if (!wants_tls(uri)) return true;
  Stream plain = unconnected();
  if (!plain) return true;
  mongoc_ssl_opt_t options = tls_options(uri);
  const Stream stream(mongoc_stream_tls_new_with_hostname(plain.get(), "", &options, kAsClient),
                      mongoc_stream_destroy);
  if (!stream) return !unconnected();  // Then no file could be opened either.
  static_cast<void>(plain.release());
  return true;
}

mongoc_stream_t* connect_to(const mongoc_uri_t* uri, const mongoc_host_list_t* host,
                            std::int32_t most_ms, bson_error_t* error) {
  constexpr std::int32_t kDriversLimitMs = 10000;
  const bool by_path = host->family == AF_UNIX;
  const std::int64_t call_ends = bson_get_monotonic_time() + microseconds_of(most_ms);
  const Addresses addresses =
      by_path ? Addresses(nullptr, freeaddrinfo) : addresses_of(host, error);
  if (!by_path && !addresses) return nullptr;
  const std::int32_t timeout_ms =
      mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, kDriversLimitMs);
  const std::int64_t expires =
      std::min(bson_get_monotonic_time() + microseconds_of(timeout_ms), call_ends);
  mongoc_stream_t* stream = by_path ? connect_unix(host, expires, error)
                                    : connect_tcp(host, addresses.get(), expires, error);
  if (stream == nullptr || !wants_tls(uri)) return stream;
  return with_tls(stream, uri, host, expires, error);
}

}  // namespace distlock
