#pragma once

#include <string>

#include "mongo/server.h"
#include "process/tool_process.h"

namespace distlock::testing {

/// A database of its own on a server with users and TLS (tools/with-mongod secured).
class Secured {
 public:
  Secured();

  const Server& server() const { return server_; }
  /// Of its root, as it stands in URIs and as it is typed.
  const std::string& password() const { return password_; }
  const std::string& typed_password() const { return typed_password_; }
  /// A file beside the authority's.
  std::string file(const std::string& name) const { return folder_ + name; }

  /// For a store on the database: as its root, with another password, or by other options than user
  /// and password.
  std::string uri() const { return uri_as("admin", password_); }
  std::string uri_as(const std::string& user, const std::string& password) const;
  std::string uri_by(const std::string& options) const;

 private:
  std::string admin_uri_;
  Server server_;
  std::string address_;
  std::string password_;
  std::string typed_password_;
  std::string folder_;
};

/// The output and the status of a tool that has ended.
struct Said {
  int status = 0;
  std::string output;
  std::string messages;

  std::string all() const { return output + messages; }
};
Said say(const std::vector<std::string>& words, const ToolProcess::Environment& environment);

}  // namespace distlock::testing
