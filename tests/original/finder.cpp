#include "original/finder.h"

namespace distlock::original {

void Finder::found(Flaw flaw, const std::string& what) {
  auto& finding = findings_[static_cast<std::size_t>(flaw)];
  const std::string text = std::string(name_of(flaw)) + ": " + what;
  trace_.say("judge", [&] { return text; });
  if (!finding) finding = "at " + sim::text_of(scheduler_.now()) + ": " + what;
}

}  // namespace distlock::original
