#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace distlock {

/// The first part of each message of MongoDB's wire protocol.
struct MessageHeader {
  std::int32_t length = 0;
  std::int32_t id = 0;
  std::int32_t response_to = 0;
  std::int32_t opcode = 0;
};
inline constexpr std::size_t kHeaderBytes = 16;
static_assert(sizeof(MessageHeader) == kHeaderBytes);

/// The header of a message, of which that many bytes must be there.
MessageHeader header_of(std::span<const std::uint8_t> message);

/// Whether a message can have this length.
bool length_is_possible(std::int32_t length);

/// Why a whole message is no answer to `request` that libmongoc may see, or nothing. It trusts the
/// shape of what it reads, and ends the process where an assertion of its own fails.
std::string_view why_unsound(std::span<const std::uint8_t> message, const MessageHeader& request);

/// The number of the error that a sound answer tells, or 0.
std::uint32_t code_in(std::span<const std::uint8_t> message);

}  // namespace distlock
