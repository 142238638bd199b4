#pragma once

#include <string_view>

#include "distlock/export.h"

namespace distlock {

/// How a hold was lost, as far as this process can tell.
enum class LossReason {
  deadline_passed,  ///< No confirmed ping for so long that a contender may win any moment (R9).
  taken_over,       ///< Another process or object holds the lock now.
  freed,            ///< The store says that it is free: `distlock break`, or released elsewhere.
  replaced,         ///< The document has the `ts` of a later hold that was released, or no `ts`.
  document_gone,    ///< Somebody deleted the lock's document.
};

/// For people: `deadline passed`, `taken over`, …
DISTLOCK_EXPORT std::string_view to_text(LossReason reason) noexcept;

}  // namespace distlock
