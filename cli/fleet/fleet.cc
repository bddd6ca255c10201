// The forms of `memprof fleet`: rows is here, the others are Python's.
#include "cli/fleet/fleet.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "analysis/fleet/fleet.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/fleet/internal/rows_json.h"
#include "cli/run/python.h"
#include "cli/run/rings.h"
#include "cli/shared/open_log.h"

namespace memprof::cli {
namespace {

// Of options that Python reads, only the form is checked here.
struct FleetArguments {
  std::string as, output, engine, master, since, until, memory, job, figure;
  std::vector<std::string> settings, parameters, jobs_wanted;
  std::int64_t jobs = 1, top = 0, threads = 1, attempt = 0;
  bool json = false, list = false, again = false;
};

void AddAs(Options* options, FleetArguments* values) {
  options->Text("as", &values->as, "NAME",
                "The log's name in the rows, such as the URI that it was fetched from. Where no "
                "scheduler names the job, the folder in it does.");
}
void AddMapping(Options* options, FleetArguments* values) {
  options->Text("output", &values->output, "DIR",
                "The folder of the tables, or its URI; made if it is not there.", 'o');
  options->Integer("jobs", &values->jobs, "N",
                   "How many logs to read at once. Default: one a processor.");
  options->Flag("again", &values->again, "Also read logs that were mapped before.");
}
void AddQuestion(Options* options, FleetArguments* values) {
  options->Flag("list", &values->list, "Print the questions, and what each answers.");
  options->List("set", &values->parameters, "NAME=VALUE",
                "A parameter of the question. Any number of times.");
}
void AddDays(Options* options, FleetArguments* values) {
  options->Text("since", &values->since, "DAY",
                "Only processes that started on this day (UTC) or later: 2026-11-26.");
  options->Text("until", &values->until, "DAY",
                "Only processes that started on this day or before.");
}
void AddChoice(Options* options, FleetArguments* values) {
  options->List("job", &values->jobs_wanted, "NAME", "Only this job. Any number of times.");
  AddDays(options, values);
  options->Integer("top", &values->top, "N",
                   "Rows of each table; 0 = all. With --json, all are printed.");
}
void AddJson(Options* options, FleetArguments* values) {
  options->Flag("json", &values->json, "Print one JSON object.");
}
void AddEngine(Options* options, FleetArguments* values, std::vector<std::string> engines,
               std::string_view help) {
  options->Choice("engine", &values->engine, std::move(engines), help);
  options->Text("master", &values->master, "URL",
                "The master of Spark, as spark-submit takes it. Default: local[*].");
  options->List("conf", &values->settings, "NAME=VALUE",
                "A setting of Spark. Any number of times.");
}
void AddDuckdb(Options* options, FleetArguments* values) {
  options->Text("memory", &values->memory, "SIZE", "What DuckDB may take. Default: 1GB.");
  options->Integer("threads", &values->threads, "N", "Of DuckDB. Default: one a processor.");
}
void AddFigure(Options* options, FleetArguments* values) {
  options->Integer("attempt", &values->attempt, "N",
                   "Which attempt of the job. Default: the one that began last.");
  options->Text("figure", &values->figure, "FIGURE",
                "Of each step. Default: allocated_peak, or peak where no framework's allocator was "
                "seen. One of: allocated_peak, peak, reserved_peak, allocated_end, reserved_end or "
                "duration.");
}
void AddQueries(Options* options, FleetArguments* values) {
  AddChoice(options, values);
  AddJson(options, values);
  AddEngine(options, values, {"duckdb", "spark"},
            "What runs the SQL: duckdb, in one process (the default), or spark.");
  AddDuckdb(options, values);
}

Options RowsForm(FleetArguments* values) {
  Options options("fleet rows [OPTION...] LOG",
                  "Prints the rows of all tables for one log: a head, one JSON object a row, an "
                  "end with their number. 'fleet map' runs this for each log.");
  AddAs(&options, values);
  options.Example("memprof fleet rows rank0.mprof | jq 'select(.table == \"leaks\").row'",
                  "The leaks of one rank, as a fleet sees them.");
  return options;
}

Options MapForm(FleetArguments* values) {
  Options options("fleet map -o DIR [OPTION...] LOG|DIR...",
                  "Makes the tables of many logs: Parquet files in folders by table, date and "
                  "job. Logs, and folders that are searched for *.mprof, are paths or URIs (s3://, "
                  "gs://). Logs that were mapped already are left out, and a log that cannot be "
                  "read is reported and counted. Needs Python: pip install memprof-gpu[fleet].");
  AddMapping(&options, values);
  AddJson(&options, values);
  AddEngine(&options, values, {"local", "spark"},
            "Where logs are read: local, here (the default), or spark, as a job of Spark.");
  options.Example("memprof fleet map -o tables /logs/job4711", "All logs of a job.");
  options.Example("memprof fleet map -o s3://bucket/tables --jobs=8 s3://bucket/logs",
                  "From and to an object store.");
  options.Example(
      "memprof fleet map -o s3://bucket/tables --engine=spark --master=yarn s3://bucket/logs",
      "Many logs, by the machines of a cluster.");
  return options;
}

Options CompactForm(FleetArguments* values) {
  Options options("fleet compact [OPTION...] DIR...",
                  "Merges the small files of a job and a day to one a table, so that engines open "
                  "fewer. Answers stay the same. It may be killed, but not run beside a map of the "
                  "same tables. Needs Python: pip install memprof-gpu[fleet].");
  AddJson(&options, values);
  options.Example("memprof fleet compact tables", "After a map of many logs, or once a day.");
  return options;
}

Options AskForm(FleetArguments* values) {
  Options options("fleet ask QUESTION [OPTION...] DIR...",
                  "Answers one question from the tables that 'fleet map' made: which ranks differ "
                  "from their peers, what leaks where, why memory ran out. --list names all "
                  "questions. Needs Python: pip install memprof-gpu[fleet].");
  AddQuestion(&options, values);
  AddQueries(&options, values);
  options.Example("memprof fleet ask --list", "What can be asked.");
  options.Example("memprof fleet ask outliers tables", "Ranks that hold more than their peers.");
  options.Example("memprof fleet ask ooms --since=2026-11-20 --json s3://bucket/tables",
                  "The failures since then, for a program.");
  return options;
}

Options ReportForm(FleetArguments* values) {
  Options options("fleet report [OPTION...] DIR...",
                  "The most important answers on a page: what is wrong first, then how even the "
                  "ranks are and how much room is left, then what the tables lack. Needs Python: "
                  "pip install memprof-gpu[fleet].");
  AddQueries(&options, values);
  options.Example("memprof fleet report tables", "How the jobs of these tables fare.");
  options.Example("memprof fleet report --job=4711 tables", "How this one does.");
  return options;
}

Options GridForm(FleetArguments* values) {
  Options options("fleet grid -o FILE [OPTION...] DIR",
                  "Writes one figure of a job, rank by step, ranks apart from their peers first: a "
                  "line of JSON, then numbers. memprof-viewer shows it. Needs Python: pip install "
                  "memprof-gpu[fleet].");
  options.Text("output", &values->output, "FILE", "Where to; - is the standard output.", 'o');
  options.Text("job", &values->job, "NAME", "Which job. Default: the one that began last.");
  AddFigure(&options, values);
  AddDays(&options, values);
  AddDuckdb(&options, values);
  options.Example("memprof fleet grid --job=4711 --figure=allocated_end -o grid tables",
                  "What each rank held at the end of each step.");
  return options;
}

Options WholeVerb(FleetArguments* values) {
  Options options(
      "fleet map|compact|ask|report|grid|rows [OPTION...] [QUESTION] LOG|DIR...",
      "Answers questions about the logs of many processes, machines and days: map makes tables of "
      "them, compact merges their files, ask, report and grid read them, rows prints those of one "
      "log. 'memprof fleet map --help' and so on explain each, with its options. All but rows need "
      "Python: pip install memprof-gpu[fleet].");
  AddMapping(&options, values);
  AddQuestion(&options, values);
  AddChoice(&options, values);
  AddJson(&options, values);
  AddEngine(&options, values, {"local", "duckdb", "spark"},
            "map: local (the default) or spark; ask and report: duckdb (the default) or spark.");
  AddFigure(&options, values);
  AddDuckdb(&options, values);
  AddAs(&options, values);
  options.Example("memprof fleet map -o tables /logs/job4711", "Make the tables of a job's logs.");
  options.Example("memprof fleet report tables", "The most important answers on a page.");
  options.Example("memprof fleet ask outliers tables", "Ranks that hold more than their peers.");
  return options;
}

int PrintRows(const std::string& log, const std::string& name) {
  const auto session = OpenLog(log);
  if (!session) return kExitFailed;
  analysis::Symbols symbols(session);
  const analysis::FleetRows rows = analysis::RollUp(session, symbols);
  return WriteFleetRows(rows, name, WriteOut) ? kExitFine : kExitFailed;
}

// What is wrong with the arguments of a form; "" if nothing is.
std::string Misuse(const std::string& form, const FleetArguments& values, std::size_t arguments) {
  if (form == "rows" && arguments != 1) return "give one log";
  if (form == "map" && values.output.empty()) return "where to? Name a folder with -o";
  if (form == "grid" && values.output.empty()) return "where to? Name a file with -o";
  if (form == "grid" && arguments != 1) return "which tables? Name one folder of 'fleet map'";
  if (values.attempt < 0) return "--attempt cannot be negative";
  if (form == "map" && arguments == 0) return "which logs? Name some, or folders with logs";
  if (values.jobs < 1) return "--jobs is at least 1";
  if (values.threads < 1) return "--threads is at least 1";
  if (values.top < 0) return "--top cannot be negative";
  if (form == "ask" && !values.list && arguments < 2)
    return "give a question and the folders of tables; --list names the questions";
  if ((form == "report" || form == "compact") && arguments == 0)
    return "which tables? Name a folder of 'fleet map'";
  return "";
}

struct Form {
  std::string_view name;
  Options (*options)(FleetArguments*);
};
constexpr Form kForms[] = {{"map", MapForm},       {"compact", CompactForm}, {"ask", AskForm},
                           {"report", ReportForm}, {"grid", GridForm},       {"rows", RowsForm}};

}  // namespace

int FleetVerb(int argc, char** argv) {
  FleetArguments values;
  const std::string word = argc < 2 ? "" : argv[1];
  for (const Form& form : kForms) {
    if (form.name != word) continue;
    Options options = form.options(&values);
    const std::string verb = Cat("fleet ", word);
    if (const int status = ParseOrExit(options, verb, argc - 1, argv + 1); status >= 0)
      return status;
    const std::string wrong = Misuse(word, values, options.arguments().size());
    if (!wrong.empty()) return UsageError(verb, wrong);
    // A log changes by this, so it is done before the logs are listed.
    if (word == "map") FoldOrphanedRings(options.arguments());
    if (word != "rows") return BecomePython("memprof._fleet", {argv + 1, argv + argc});
    const std::string& log = options.arguments()[0];
    return PrintRows(log, values.as.empty() ? log : values.as);
  }
  Options options = WholeVerb(&values);
  if (word == "--help" || word == "-h") return ParseOrExit(options, "fleet", argc, argv);
  std::vector<std::string> names;
  for (const Form& form : kForms) names.emplace_back(form.name);
  const std::string all = absl::StrJoin(names, ", ");
  if (word.empty()) return UsageError("fleet", Cat("which of ", all, "?"));
  const auto nearest = Nearest(word, names);
  return UsageError("fleet",
                    Cat("there is no '", word, "'",
                        nearest ? Cat("; did you mean '", *nearest, "'?") : "", " (", all, ")"));
}

}  // namespace memprof::cli
