#include "cli/exit_status.h"

namespace distlock::cli {

int exit_status_of(Errc code) {
  switch (code) {
    case Errc::not_applied:
    case Errc::outcome_unknown:
    case Errc::store_replaced:
      return kStoreAway;
    case Errc::bad_record:
      return kMalformed;
    case Errc::invalid_argument:
      return kUsage;
    case Errc::permission_denied:
      return kPermission;
    case Errc::lock_lost:
      return kLockLost;
    case Errc::already_held:
    case Errc::forked:
    case Errc::stopped:
    case Errc::deadlock:
      break;
  }
  return kInternal;
}

}  // namespace distlock::cli
