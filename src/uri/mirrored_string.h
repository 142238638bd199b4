#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "uri/mirrored_options.h"

namespace distlock {

/// The strings of the members that a `mirrored+…` connection string names, or what is wrong with
/// it. `problem` never shows a piece that may be a secret.
struct MirroredString {
  std::vector<std::string> members;
  std::string problem;
  MirroredOptions options = {};
};

/// Of `mirrored+mongodb://…` or `mirrored+sqlite:…`. The members' own strings are not judged.
MirroredString members_of_mirrored(std::string_view text);

/// Whether a path begins with the scheme of a store, or has `://`.
bool names_a_kind(std::string_view path);

/// `text`, which is refused, without anything that could have been meant as a password.
std::string redacted_refused_mirrored(std::string_view text);

}  // namespace distlock
