#pragma once

namespace distlock {

/// Whether what is sent to an engine may change anything. If it fails without an answer then,
/// nobody can know.
enum class Effect { reads, writes };

}  // namespace distlock
