#include "cli/connection.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "distlock/error.h"
#include "text.h"

namespace distlock::cli {
namespace {

std::string first_line(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    const int error = errno;
    throw Error(error == EACCES ? Errc::permission_denied : Errc::invalid_argument,
                "cannot read a connection string from " + distlock::quoted(path) +
                    (error != 0 ? std::string(": ") + std::strerror(error) : ": it is empty"));
  }
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

ConnectionString connection_of(const StoreArguments& arguments) {
  if (arguments.uri) return ConnectionString(*arguments.uri);
  if (arguments.uri_file) return ConnectionString(first_line(*arguments.uri_file));
  if (arguments.fallback) return ConnectionString(*arguments.fallback);
  throw Error(Errc::invalid_argument,
              "no store is named: say --uri sqlite:PATH, or set DISTLOCK_URI or HOME");
}

}  // namespace distlock::cli
