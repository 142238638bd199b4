#include "distlock/loss.h"

namespace distlock {

std::string_view to_text(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::deadline_passed:
      return "deadline passed without a confirmed ping";
    case LossReason::taken_over:
      return "taken over by another holder";
    case LossReason::freed:
      return "freed by an operator or released elsewhere";
    case LossReason::replaced:
      return "the store has another hold's ts";
    case LossReason::document_gone:
      return "its document was deleted";
  }
  return "lost";
}

}  // namespace distlock
