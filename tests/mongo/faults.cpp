#include "mongo/faults.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "stores/mongodb/mongo_documents.h"

namespace distlock::testing {
namespace {

pid_t pid_behind(int port) {
  std::istringstream pairs(required_variable("DISTLOCK_MONGODB_PIDS"));
  const std::string key = std::to_string(port) + "=";
  for (std::string pair; pairs >> pair;) {
    if (pair.starts_with(key)) return std::stoi(pair.substr(key.size()));
  }
  throw std::runtime_error("no server of ours listens on port " + std::to_string(port));
}

bool stands_still(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:")) return line.find("T (stopped)") != std::string::npos;
  }
  return true;  // It has ended.
}

bool all_threads_stand_still(pid_t pid) {
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task");
  return std::all_of(begin(threads), end(threads),
                     [](const auto& thread) { return stands_still(thread.path()); });
}

/// Whether it is elected. Not one that has not caught up, or while another is elected.
bool run_for_election(int port) {
  try {
    Server(direct_uri(port), "admin").admin(doc({{"replSetStepUp", 1}}));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

FailPoint::FailPoint(const Server& server, const std::string& command, std::string_view collection,
                     const std::string& how, const std::string& mode)
    : server_(server) {
  const std::string space = server.database() + "." + std::string(collection);
  server.admin(json(R"({"configureFailPoint": "failCommand", "mode": )" + mode + R"(, "data": {)" +
                    ("\"failCommands\": [\"" + command + "\"], ") + "\"namespace\": \"" + space +
                    "\", " + how + "}}"));
}

FailPoint::~FailPoint() {
  server_.admin(json(R"({"configureFailPoint": "failCommand", "mode": "off"})"));
}

// On a loaded machine the server goes on answering for a while after the signal was sent.
Stopped::Stopped(int port) : pid_(pid_behind(port)) {
  ::kill(pid_, SIGSTOP);
  wait_until("a stopped server", [this] { return all_threads_stand_still(pid_); });
}

std::string direct_uri(int port) {
  return "mongodb://127.0.0.1:" + std::to_string(port) +
         "/?serverSelectionTimeoutMS=2000&connectTimeoutMS=1000&socketTimeoutMS=5000";
}

std::vector<int> ports_of(const std::string& uri) {
  std::vector<int> ports;
  const auto end = uri.find('/', std::string_view("mongodb://").size());
  for (auto at = uri.find(':', 8); at < end; at = uri.find(':', at + 1))
    ports.push_back(std::stoi(uri.substr(at + 1)));
  return ports;
}

std::vector<int> without(std::vector<int> ports, int port) {
  std::erase(ports, port);
  return ports;
}

int primary_among(const std::vector<int>& ports) {
  for (const int port : ports) {
    try {
      const Bson hello = Server(direct_uri(port), "admin").admin(doc({{"isMaster", 1}}));
      const auto primary = find(hello.get(), "ismaster");
      if (primary && bson_iter_as_bool(&*primary)) return port;
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  return 0;
}

void wait_until_whole(const std::string& uri) {
  const std::string members = std::to_string(ports_of(uri).size());
  wait_until("a whole replica set", [&] {
    try {
      const Server server(uri, "admin");
      const Bson reply =
          server.admin(json(R"({"insert": "whole", "documents": [{}], "writeConcern": {"w": )" +
                            members + R"(, "wtimeout": 2000}})"));
      return !find(reply.get(), "writeConcernError");
    } catch (const std::runtime_error&) {
      return false;
    }
  });
}

void elect_among(const std::vector<int>& ports) {
  wait_until("an election",
             [&] { return std::any_of(ports.begin(), ports.end(), run_for_election); });
  wait_until("another primary", [&] { return primary_among(ports) != 0; });
}

void step_up(const std::string& uri, int port) {
  wait_until("the fail-over", [&] {
    if (primary_among(ports_of(uri)) == port) return true;
    run_for_election(port);
    return false;
  });
}

}  // namespace distlock::testing
