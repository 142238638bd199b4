"""usage: python3 bench/interleaved.py ROUNDS < COMMANDS

Runs the commands, one a line, by turns: each prints a row of a markdown table. Prints each row once,
with the median of the rounds in place of each number that changed, and the least and the greatest.
"""
import shlex
import statistics
import subprocess
import sys


def cells_of(command: str) -> list[str]:
    told = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, text=True, check=True).stdout
    return [cell.strip() for cell in told.strip().strip("|").split("|")]


def number_in(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def together(cells: list[str]) -> str:
    numbers = [number for number in map(number_in, cells) if number is not None]
    if len(numbers) < len(cells):
        return cells[-1]
    digits = max(len(cell.partition(".")[2]) for cell in cells)
    least, median, greatest = (
        f"{number:.{digits}f}" for number in (min(numbers), statistics.median(numbers), max(numbers)))
    return median if least == greatest else f"{median} ({least} to {greatest})"


def main() -> None:
    rounds = int(sys.argv[1])
    commands = [line for line in sys.stdin.read().splitlines() if line.strip()]
    rows: list[list[list[str]]] = [[] for _ in commands]
    for _ in range(rounds):
        for command, row in zip(commands, rows):
            row.append(cells_of(command))
    for row in rows:
        print("| " + " | ".join(together(list(cells)) for cells in zip(*row)) + " |")


if __name__ == "__main__":
    main()
