#include "cli/table.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include "text.h"

namespace distlock::cli {
namespace {

// Code points, which is near enough to columns for names and process ids.
std::size_t width(std::string_view text) { return characters_of(text).size(); }

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

constexpr std::size_t kGap = 2;
constexpr std::size_t kKept = 8;

// The column to cut next, or npos if all fit.
std::size_t column_to_cut(const std::vector<std::size_t>& widest, std::size_t width) {
  std::size_t sum = widest.empty() ? 0 : kGap * (widest.size() - 1);
  for (const std::size_t column : widest) sum += column;
  if (sum <= width) return std::string::npos;
  if (widest.back() > kKept) return widest.size() - 1;
  const auto found = std::max_element(widest.begin(), widest.end());
  return *found > kKept ? static_cast<std::size_t>(found - widest.begin()) : std::string::npos;
}

// The least width that texts can be cut to.
std::size_t least_width(const std::vector<Row>& rows) {
  const std::vector<std::size_t> widest = widths(rows);
  std::size_t sum = widest.empty() ? 0 : kGap * (widest.size() - 1);
  for (const std::size_t column : widest) sum += std::min(column, kKept);
  return sum;
}

void erase_column(std::vector<Row>& rows, const std::string& heading) {
  const Row& headings = rows.front();
  const auto found = std::find_if(headings.begin(), headings.end(),
                                  [&](const Cell& cell) { return cell.text == heading; });
  const auto at = found - headings.begin();
  for (Row& row : rows) row.erase(row.begin() + at);
}

std::string cut(const std::string& text, std::size_t most) {
  const auto letters = characters_of(text);
  if (letters.size() <= most) return text;
  std::string kept;
  for (std::size_t i = 0; i + 1 < most; ++i) kept += letters[i];
  return kept + "…";
}

std::string_view sequence(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::heading:
      return "\033[1m";
    case Style::dim:
      return "\033[2m";
    case Style::good:
      return "\033[32m";
    case Style::bad:
      return "\033[31m";
  }
  return "";
}

}  // namespace

std::string dressed(const Cell& cell, bool in_colour) {
  if (!in_colour || cell.style == Style::plain || cell.text.empty()) return cell.text;
  return std::string(sequence(cell.style)) + cell.text + "\033[0m";
}

Narrowed narrowed(std::vector<Row> rows, std::size_t width,
                  const std::vector<std::string>& first_to_go) {
  Narrowed result{std::move(rows), {}};
  if (width == 0) return result;
  for (const std::string& heading : first_to_go) {
    if (least_width(result.rows) <= width) break;
    erase_column(result.rows, heading);
    result.left_out.push_back(heading);
  }
  return result;
}

std::vector<Row> fitted(std::vector<Row> rows, std::size_t width) {
  if (width == 0) return rows;
  std::vector<std::size_t> widest = widths(rows);
  for (auto at = column_to_cut(widest, width); at != std::string::npos;
       at = column_to_cut(widest, width)) {
    --widest[at];
  }
  for (Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i].text = cut(row[i].text, widest[i]);
  }
  return rows;
}

void print_table(std::ostream& out, const std::vector<Row>& rows, bool in_colour) {
  const std::vector<std::size_t> widest = widths(rows);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << dressed(row[i], in_colour);
      if (i + 1 < row.size()) out << std::string(widest[i] - width(row[i].text) + kGap, ' ');
    }
    out << '\n';
  }
}

}  // namespace distlock::cli
