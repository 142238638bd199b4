#include "cli/table.h"

#include <algorithm>
#include <ostream>
#include <string_view>

namespace distlock::cli {
namespace {

// Code points, which is near enough to columns for names and process ids.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

std::vector<std::size_t> widths(const std::vector<Row>& rows) {
  std::vector<std::size_t> widest;
  for (const Row& row : rows) {
    widest.resize(std::max(widest.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widest[i] = std::max(widest[i], width(row[i].text));
    }
  }
  return widest;
}

std::string_view sequence(Look look) {
  switch (look) {
    case Look::plain:
      return "";
    case Look::heading:
      return "\033[1m";
    case Look::dim:
      return "\033[2m";
    case Look::good:
      return "\033[32m";
    case Look::bad:
      return "\033[31m";
  }
  return "";
}

}  // namespace

std::string dressed(const Cell& cell, bool in_colour) {
  if (!in_colour || cell.look == Look::plain || cell.text.empty()) return cell.text;
  return std::string(sequence(cell.look)) + cell.text + "\033[0m";
}

void print_table(std::ostream& out, const std::vector<Row>& rows, bool in_colour) {
  const std::vector<std::size_t> widest = widths(rows);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << dressed(row[i], in_colour);
      if (i + 1 < row.size()) out << std::string(widest[i] - width(row[i].text) + 2, ' ');
    }
    out << '\n';
  }
}

}  // namespace distlock::cli
