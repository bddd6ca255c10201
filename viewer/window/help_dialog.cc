// A small window with the keys and mouse gestures.
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

struct HelpGroup {
  const char* title;
  Entry entries[24];
};

// docs/viewer.md describes the same with reasons.
constexpr HelpGroup kGroups[] = {
    {"Everywhere",
     {{"Ctrl+1 … Ctrl+9, Ctrl+0", "the views, from the top of the list"},
      {"Alt+←, Alt+→", "undo and redo zooms and filters, in whichever view they were made"},
      {"Home", "all of the recording, and of the graph of call sites"},
      {"P", "the peak of the memory in use"},
      {"S", "axis in training steps, each equally wide, or in time"},
      {"Esc", "clear the selection"},
      {"Ctrl+F", "search in this view"},
      {"Ctrl+L", "filter all views: conv -weight \"two words\"; Ctrl+Shift+L shows everything"},
      {"Ctrl+K", "go to a view, call site, tensor, step or command by its name"},
      {"Ctrl+C in a table", "copy the row"},
      {"Ctrl+E", "write the view as picture (.png), drawing (.svg) or table (.csv)"},
      {"Ctrl+Shift+C", "copy the view as a picture"},
      {"Ctrl+Alt+C", "copy a link: the command that shows this again"},
      {"Ctrl+D, Ctrl+Shift+D", "add a note here; the list of notes"},
      {"F9", "the details in a window of their own, or back"},
      {"Ctrl+O, F5", "open logs in this window; read this one again"},
      {"F1", "this help"}}},
    {"Timeline",
     {{"click", "choose the instant that all views show; by call site also the band's site"},
      {"drag", "zoom to that window"},
      {"wheel, ↑ ↓ + −", "zoom at the mouse, or at the chosen instant"},
      {"Shift+drag, Shift+wheel, ← →", "move the window"},
      {"Ctrl+← Ctrl+→", "move the chosen instant"},
      {"double click", "show all; on a named range: zoom to it"},
      {"G, Shift+G", "stack by the next or the previous property"},
      {"N, Shift+N", "next and previous mark: failed requests, snapshots"},
      {"Ctrl+↑ Ctrl+↓", "the call site of the band above or below"},
      {"W", "the program's memory, or all of the device up to its capacity"},
      {"R", "a row for each device and process; Enter or double click opens one"},
      {"Ctrl+wheel, Shift+↑ ↓, Page up, Page down", "zoom and move bytes; 0 shows all"},
      {"F", "fit: leave out the floor that is always in use; again: all bytes"},
      {"drag in the byte axis", "show these bytes"},
      {"click on a box of the legend", "hide the band, or show it; also Ctrl+click on its name"},
      {"right click", "hide a band, pin the colour of a call site"},
      {"paler colour", "there at times only within that column of pixels"}}},
    {"Allocations, and addresses over time",
     {{"click", "select the allocation, its call site and the instant"},
      {"double click, Enter", "zoom to its lifetime"},
      {"wheel, ↑ ↓", "zoom time; with Ctrl or Shift+↑ ↓: bytes"},
      {"Shift+drag, Page up, Page down", "move in time and bytes"},
      {"[ ]", "the allocation of this call site before, after"},
      {"0", "all bytes"}}},
    {"Address map",
     {{"click, ← →", "select a piece; a hole shows which blocks pin it"},
      {"H", "the largest hole"},
      {"Ctrl+wheel", "more or fewer bytes a line"}}},
    {"Call sites and leaks",
     {{"click, Space", "zoom to a frame; Backspace goes out by one"},
      {"double click, Enter", "open the source in the editor"},
      {"right click", "choose the editor, copy, filter to or leave out, pin a colour"},
      {"Delete", "suppress a leak in this window; Ctrl+Z undoes it"}}},
    {"Source",
     {{"click, Space", "select the call site of the line; again: its next one"},
      {"double click, Enter", "open the line in the editor"},
      {"Ctrl+C", "copy the line"}}},
    {"Tensors, processes",
     {{"Ctrl+F", "the query: attn bytes>1MiB born:10..20 alive"},
      {"Enter", "go to the birth; show a process alone in all views"}}},
    {"What if, diff",
     {{"Space", "draw the course of an allocator"},
      {"Alt+O, Alt+W", "other allocators; without a part"},
      {"Alt+W, Alt+S", "in Diff: the log to compare with; swap"},
      {"Alt+P, Alt+M", "pin this instant as before; compare moments"},
      {"Alt+G", "compare moments at the same place of their steps"},
      {"click, double click", "in the icicle: select in all views, zoom"}}},
    {"A fleet",
     {{"↑ ↓, click", "choose a rank"},
      {"double click, Enter", "open its log beside a typical rank's, in Diff"},
      {"wheel, drag", "zoom steps; Ctrl+wheel: ranks; Shift moves"},
      {"O, Home", "the ranks that are apart; all"}}},
    {"Several logs",
     {{"memprof-viewer A B", "the processes of one job, in one window"},
      {"memprof-viewer --separate A B", "a window for each log"}}},
};

}  // namespace

QString HelpHtml() {
  QString html;
  for (const HelpGroup& group : kGroups) {
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
  dialog->resize(720, 680);
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
