// What keys and mouse do, in one small window.
#include "viewer/window/help_dialog.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace memprof::viewer {
namespace {

struct Entry {
  const char* keys;
  const char* meaning;
};

struct Group {
  const char* title;
  Entry entries[9];
};

constexpr Group kGroups[] = {
    {"Everywhere",
     {{"Ctrl+O, F5", "open a log in this window; load it again"},
      {"Ctrl+1 … Ctrl+4", "timeline, address map, leaks, call sites"},
      {"Alt+←, Alt+→", "zoom back and forward, in whichever view the zoom was made"},
      {"Home", "show all of the recording and of the flame graph"},
      {"P", "go to the peak of the device"},
      {"Esc", "clear the selection"},
      {"Ctrl+F", "search call sites"},
      {"Ctrl+E", "export the view as a picture"},
      {"F1", "this help"}}},
    {"Timeline",
     {{"click", "choose the instant that map, call sites and details show"},
      {"drag", "zoom to that window"},
      {"wheel, ↑ ↓ + −", "zoom at the mouse, or at the chosen instant"},
      {"Shift+drag, Shift+wheel, ← →", "move the window"},
      {"double click", "show all; on a named range: zoom to it"},
      {"S, or the choice above", "axis in time, or in training steps of equal width"},
      {"paler colour", "there at times only within that column of pixels"}}},
    {"Address map",
     {{"mouse over", "what lies there, how large and how old, who made it"},
      {"click", "select the block: its site is found in the other views"},
      {"Ctrl+wheel", "more or fewer bytes a line"}}},
    {"Call sites",
     {{"click", "zoom to a frame; click a frame above it to go back out"},
      {"right click", "copy, or zoom all the way out"}}},
    {"Several logs",
     {{"memprof-viewer A B", "opens a window for each log: look at them side by side"}}},
};

}  // namespace

QString HelpHtml() {
  QString html;
  for (const Group& group : kGroups) {
    html +=
        QStringLiteral("<h3>%1</h3><table cellpadding='3'>").arg(QString::fromUtf8(group.title));
    for (const Entry& entry : group.entries) {
      if (entry.keys == nullptr) break;
      html += QStringLiteral("<tr><td width='210'><b>%1</b></td><td>%2</td></tr>")
                  .arg(QString::fromUtf8(entry.keys), QString::fromUtf8(entry.meaning));
    }
    html += QStringLiteral("</table>");
  }
  return html;
}

void ShowHelp(QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QObject::tr("Keys and mouse"));
  dialog->resize(640, 620);
  auto* layout = new QVBoxLayout(dialog);
  auto* text = new QTextBrowser(dialog);
  text->setHtml(HelpHtml());
  layout->addWidget(text);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
  layout->addWidget(buttons);
  dialog->show();
}

}  // namespace memprof::viewer
