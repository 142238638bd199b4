#include "stores/sqlite/sqlite_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "distlock/error.h"
#include "text.h"

namespace distlock {
namespace {

struct Shared {
  unsigned long magic;
  const char* name;
};

// As in the kernel's uapi/linux/magic.h, and for those outside the kernel, in their sources. 9P and
// FUSE may also be of one host, which nobody can tell from here.
constexpr std::array kShared{
    Shared{0x6969, "NFS"},        Shared{0x517B, "SMB"},        Shared{0xFF534D42, "CIFS"},
    Shared{0xFE534D42, "SMB"},    Shared{0x6B414653, "AFS"},    Shared{0x5346414F, "AFS"},
    Shared{0x73757245, "Coda"},   Shared{0x00C36400, "Ceph"},   Shared{0x0BD00BD0, "Lustre"},
    Shared{0x47504653, "GPFS"},   Shared{0x01161970, "GFS2"},   Shared{0x7461636F, "OCFS2"},
    Shared{0x19830326, "BeeGFS"}, Shared{0x01021997, "9P"},     Shared{0x65735546, "FUSE"},
    Shared{0x786F4256, "vboxsf"}, Shared{0xBACBACBC, "vmhgfs"},
};

}  // namespace

const char* shared_file_system(unsigned long magic) {
  const auto* found = std::find_if(kShared.begin(), kShared.end(),
                                   [&](const Shared& one) { return one.magic == magic; });
  return found == kShared.end() ? nullptr : found->name;
}

void refuse_shared_file_system(const std::string& path) {
  struct statfs status {};
  // A process that may open the file may ask this. Numbers of 32 bits come with their sign.
  if (statfs(path.c_str(), &status) != 0) return;
  const char* name = shared_file_system(static_cast<std::uint32_t>(status.f_type));
  if (name == nullptr) return;
  throw Error(Errc::invalid_argument,
              in_quotes(path) + " is on a file system that other hosts may share (" + name +
                  "), where two could hold one lock; use a local disk, or MongoDB");
}

bool is_mounted_by_itself(const std::string& path) {
  struct statx status {};
  return statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) == 0 &&
         (status.stx_attributes & status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

}  // namespace distlock
