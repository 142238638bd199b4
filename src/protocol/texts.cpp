// The texts that documents have: names, ids, labels, purposes.
#include "distlock/error.h"
#include "protocol/protocol.h"
#include "text.h"

namespace distlock::protocol {
namespace {

constexpr std::size_t kIdBytesMax = 1000;
constexpr std::size_t kLabelBytesMax = 1000;

[[noreturn]] void refuse_text(const std::string& what) {
  throw Error(Errc::invalid_argument, what);
}

/// Checks what is to be the `_id` of a document; messages call it `what`.
void check_id(const std::string& what, std::string_view id) {
  if (id.empty()) refuse_text(what + " is empty: give it at least one character");
  if (id.size() > kIdBytesMax) {
    refuse_text(what + " has " + std::to_string(id.size()) + " bytes: at most 1000 are allowed");
  }
  if (id.find('\0') != id.npos) refuse_text(what + " has a NUL byte: leave it out");
  if (!is_utf8(id)) refuse_text(what + " \"" + escaped(id) + "\" is not UTF-8");
}

}  // namespace

void check_name(std::string_view name) { check_id("lock name", name); }

void check_process(std::string_view process) { check_id("process id", process); }

// It stands in the `who` of each claim, which must be a well-formed text.
void check_label(std::string_view label) {
  if (label.size() > kLabelBytesMax) refuse_text("label has more than 1000 bytes: make it shorter");
  if (label.find('\0') != label.npos) refuse_text("label has a NUL byte: leave it out");
  if (!is_utf8(label)) refuse_text("label \"" + escaped(label) + "\" is not UTF-8");
}

void check_why(std::string_view why) {
  if (why.size() > kWhyBytesMax) refuse_text("why has more than 10000 bytes: say it shorter");
  if (why.find('\0') != why.npos) refuse_text("why has a NUL byte: leave it out");
  if (!is_utf8(why)) refuse_text("why \"" + escaped(why) + "\" is not UTF-8");
}

}  // namespace distlock::protocol
