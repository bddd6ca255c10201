// The command line of memprof-viewer.
#include "viewer/window/options.h"

#include "analysis/source/source_text.h"
#include "viewer/models/remote_log.h"
#include "viewer/window/theme_choice.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

std::optional<ViewKind> ParseView(const QString& name) {
  if (name == QLatin1String(kFleetViewName)) return ViewKind::kFleet;
  for (const ViewEntry& view : ViewTable())
    if (name == QString::fromUtf8(view.name)) return view.kind;
  return std::nullopt;
}

QString SetValue(Options& options, const QString& name, const QString& value) {
  if (name == QLatin1String("--screenshot")) {
    if (value.isEmpty()) return QStringLiteral("--screenshot needs a file name");
    options.screenshot = value;
  } else if (name == QLatin1String("--diff")) {
    if (value.isEmpty()) return QStringLiteral("--diff needs the log to compare with");
    options.diff = value;
  } else if (name == QLatin1String("--remote-memprof")) {
    if (!IsRemotePath(value))
      return QStringLiteral("--remote-memprof takes the path of memprof on the other machine");
    options.remote_memprof = value;
  } else if (name == QLatin1String("--source-map")) {
    const auto map = analysis::ParseSourceMap(value.toStdString());
    if (!map.ok()) return QStringLiteral("--source-map takes FROM=TO or a folder");
    options.source_maps << value;
  } else if (name == QLatin1String("--view")) {
    options.view = ParseView(value);
    if (!options.view.has_value()) {
      return QStringLiteral("unknown view '%1': choose %2").arg(value, ViewNames());
    }
  } else if (name == QLatin1String("--size")) {
    const QStringList parts = value.split(QLatin1Char('x'));
    bool width_ok = false, height_ok = false;
    if (parts.size() == 2) {
      options.size = QSize(parts[0].toInt(&width_ok), parts[1].toInt(&height_ok));
    }
    if (!width_ok || !height_ok || options.size.width() < 320 || options.size.height() < 240 ||
        options.size.width() > 16384 || options.size.height() > 16384) {
      return QStringLiteral("--size takes WIDTHxHEIGHT between 320x240 and 16384x16384, not '%1'")
          .arg(value);
    }
  } else if (name == QLatin1String("--axis")) {
    if (value != QLatin1String("time") && value != QLatin1String("steps")) {
      return QStringLiteral("--axis takes time or steps, not '%1'").arg(value);
    }
    options.axis = value == QLatin1String("steps") ? AxisKind::kSteps : AxisKind::kTime;
  } else if (name == QLatin1String("--scale")) {
    bool ok = false;
    options.scale = value.toDouble(&ok);
    if (!ok || !(options.scale >= 0.5 && options.scale <= 4)) {
      return QStringLiteral("--scale takes a number from 0.5 to 4, not '%1'").arg(value);
    }
  } else {
    options.theme = ThemeOfName(value);
    if (!options.theme.has_value())
      return QStringLiteral("--theme takes system, light or dark, not '%1'").arg(value);
  }
  return {};
}

bool TakesValue(const QString& name) {
  return name == QLatin1String("--screenshot") || name == QLatin1String("--view") ||
         name == QLatin1String("--size") || name == QLatin1String("--scale") ||
         name == QLatin1String("--diff") || name == QLatin1String("--theme") ||
         name == QLatin1String("--axis") || name == QLatin1String("--source-map") ||
         name == QLatin1String("--remote-memprof");
}

QString Check(const Options& options) {
  if (options.help || options.version) return {};
  if (!options.diff.isEmpty() && options.logs.isEmpty())
    return QStringLiteral("--diff needs the other log as well");
  if (options.screenshot.isEmpty()) return {};
  if (options.logs.isEmpty()) return QStringLiteral("--screenshot needs a log");
  return {};
}

}  // namespace

ParsedOptions ParseOptions(const QStringList& arguments) {
  ParsedOptions parsed;
  bool only_logs = false;
  for (qsizetype i = 0; i < arguments.size(); ++i) {
    const QString& argument = arguments[i];
    if (only_logs || !argument.startsWith(QLatin1Char('-')) || argument == QLatin1String("-")) {
      parsed.options.logs << argument;
    } else if (argument == QLatin1String("--")) {
      only_logs = true;
    } else if (argument == QLatin1String("--help") || argument == QLatin1String("-h")) {
      parsed.options.help = true;
    } else if (argument == QLatin1String("--version")) {
      parsed.options.version = true;
    } else if (argument == QLatin1String("--caption")) {
      parsed.options.caption = true;
    } else if (argument == QLatin1String("--separate")) {
      parsed.options.separate = true;
    } else {
      const qsizetype equals = argument.indexOf(QLatin1Char('='));
      const QString name = argument.left(equals < 0 ? argument.size() : equals);
      if (!TakesValue(name)) {
        parsed.error = QStringLiteral("unknown option '%1'").arg(name);
        return parsed;
      }
      if (equals < 0 && i + 1 >= arguments.size()) {
        parsed.error = QStringLiteral("%1 needs a value").arg(name);
        return parsed;
      }
      const QString value = equals >= 0 ? argument.mid(equals + 1) : arguments[++i];
      parsed.error = SetValue(parsed.options, name, value);
      if (!parsed.error.isEmpty()) return parsed;
    }
  }
  parsed.error = Check(parsed.options);
  return parsed;
}

namespace {

// The names of all views, wrapped into lines that begin at the column of the options' descriptions.
QString WrapNames() {
  QString text, line;
  for (const QString& name : ViewNames().split(QLatin1Char(' '))) {
    if (line.size() + name.size() > 55) {
      text += QString(23, QLatin1Char(' ')) + line.trimmed() + QLatin1Char('\n');
      line.clear();
    }
    line += name + QLatin1Char(' ');
  }
  return text + QString(23, QLatin1Char(' ')) + line.trimmed();
}

}  // namespace

QString HelpText() {
  return QStringLiteral(
             "Usage: memprof-viewer [OPTION]... [LOG]...\n"
             "Look at where the device memory of a GPU program went. Several logs, or a folder of "
             "them, "
             "are\nthe processes of one job and open together in one window. A folder that "
             "'memprof fleet "
             "map'\nmade shows the ranks of its jobs. A memory snapshot of PyTorch and a log of "
             "RMM "
             "are read\nas logs. ssh://[user@]host[:port]/path is read by memprof on that machine, "
             "also while it grows.\nAfter a name, #view=leaks&step=39 says what is shown; 'Copy "
             "link' in the window makes such\nlinks.\n"
             "\n"
             "  --view VIEW          show this view first (default timeline):\n"
             "%1\n"
             "  --diff BEFORE        compare with this log, in the view diff\n"
             "  --source-map FROM=TO sources recorded below FROM are below TO; TO alone is a "
             "checkout\n"
             "  --remote-memprof PATH  where memprof is on the machine of ssh:// (default: in "
             "PATH)\n"
             "  --separate           open a window for each log instead\n"
             "  --axis AXIS          what runs evenly along the timeline: time (default) or steps\n"
             "  --theme THEME        system, light or dark; without, as chosen in the window\n"
             "  --screenshot FILE    draw the view into a PNG file without a display, and exit\n"
             "  --size WxH           size of the picture or window (default 1280x800)\n"
             "  --caption            say below the picture what it shows\n"
             "  --scale N            pixels per unit of a picture, 0.5 to 4 (default 1): 2 is "
             "high-DPI\n"
             "  --help, --version    print this, or the version\n"
             "\n"
             "Exit status: 0 fine, 1 the log cannot be read or the picture not written, 2 wrong "
             "usage.\n")
      .arg(WrapNames());
}

}  // namespace memprof::viewer
