#include "security/secured.h"

namespace distlock::testing {
namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

std::string decoded(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%';
    result += coded ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i];
    i += coded ? 2 : 0;
  }
  return result;
}

}  // namespace

Secured::Secured()
    : admin_uri_(required_variable("DISTLOCK_MONGODB_SECURED_URI")),
      server_(admin_uri_),
      address_(between(admin_uri_, "@", "/")),
      password_(between(admin_uri_, "admin:", "@")),
      typed_password_(decoded(password_)) {
  const std::string authority = between(admin_uri_, "tlsCAFile=", "&");
  folder_ = authority.substr(0, authority.rfind('/') + 1);
}

std::string Secured::uri_as(const std::string& user, const std::string& password) const {
  return "mongodb://" + user + ":" + password + "@" + address_ + "/" + server_.database() +
         "?authSource=admin&tls=true&tlsCAFile=" + file("authority.pem");
}

std::string Secured::uri_by(const std::string& options) const {
  return "mongodb://" + address_ + "/" + server_.database() +
         "?tls=true&tlsCAFile=" + file("authority.pem") + (options.empty() ? "" : "&" + options);
}

Said say(const std::vector<std::string>& words, const ToolProcess::Environment& environment) {
  ToolProcess tool(words, environment);
  tool.close_input();
  Said said;
  said.output = tool.rest_of_output();
  said.messages = tool.rest_of_messages();
  said.status = tool.wait();
  return said;
}

}  // namespace distlock::testing
