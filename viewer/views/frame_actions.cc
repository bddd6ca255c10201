// Actions for a frame of a call stack.
#include "viewer/views/frame_actions.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMenu>
#include <QMessageBox>
#include <QProcess>
#include <QSettings>
#include <QUrl>

#include "analysis/filter/filter_text.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/editor_command.h"
#include "viewer/models/source_maps.h"
#include "viewer/views/pin_menu.h"

namespace memprof::viewer {
namespace {

QString TryToOpen(const Document& document, const analysis::SourceFrame& frame) {
  const QString named = ToQString(frame.file);
  if (named.isEmpty()) {
    return Tr("The source of %1 is not known. Its binary has no debug information: build it with "
              "-g.")
        .arg(ToQString(frame.function));
  }
  const QString file = document.session() == nullptr
                           ? QString()
                           : FindSourceFile(frame.file, PlacesOf(*document.session()));
  if (file.isEmpty()) {
    return Tr("%1 is not on this machine. The log names it as the program was built; open the log "
              "where its sources are.")
        .arg(named);
  }
  const auto command = MakeEditorCommand(EditorSettings::FromEnvironment(), file, frame.line);
  if (!command.has_value()) {
    return QDesktopServices::openUrl(QUrl::fromLocalFile(file))
               ? QString()
               : Tr("Nothing here opens %1. Name your editor: MEMPROF_EDITOR=\"code -g "
                    "{file}:{line}\".")
                     .arg(file);
  }
  if (QProcess::startDetached(command->program, command->arguments)) return {};
  return Tr("The editor %1 could not be started. Is MEMPROF_EDITOR right?").arg(command->program);
}

void ChooseEditor(QWidget* owner) {
  QSettings store;
  const QString key = QStringLiteral("editor/command");
  bool chosen = false;
  const QString command = QInputDialog::getText(
      owner, Tr("Editor"), Tr("Command that opens {file} at {line}, such as code -g {file}:{line}"),
      QLineEdit::Normal, store.value(key).toString(), &chosen);
  if (chosen) store.setValue(key, command.trimmed());
}

}  // namespace

QString WholeFrame(const analysis::SourceFrame& frame) {
  return ToQString(analysis::Symbols::Describe(frame));
}

void CopyStack(QObject* owner, const Document& document, analysis::StackId stack) {
  if (document.symbols() == nullptr || !stack.valid()) return;
  auto* job = new JobTracker(owner);
  job->Start(
      [symbols = document.symbols(), stack](std::stop_token) {
        QString text;
        for (const analysis::SourceFrame& frame : symbols->ResolveStack(stack))
          text += WholeFrame(frame) + QLatin1Char('\n');
        return text;
      },
      [job](const QString& text) {
        QGuiApplication::clipboard()->setText(text);
        job->deleteLater();
      });
}

QString OpenInEditor(QWidget* owner, const Document& document, const analysis::SourceFrame& frame) {
  const QString problem = TryToOpen(document, frame);
  if (problem.isEmpty()) return {};
  auto* box = new QMessageBox(QMessageBox::Information, Tr("Open in editor"), problem,
                              QMessageBox::Ok, owner);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setTextFormat(Qt::PlainText);
  box->open();
  return problem;
}

void AddFrameActions(QMenu* menu, QWidget* owner, Document* document, Selection* selection,
                     const FrameTarget& target) {
  QAction* open = menu->addAction(Tr("&Open in editor"), owner, [owner, document, target] {
    OpenInEditor(owner, *document, target.frame);
  });
  open->setEnabled(!target.frame.file.empty());
  menu->addAction(Tr("Choose the &editor …"), owner, [owner] { ChooseEditor(owner); });
  menu->addAction(Tr("&Copy frame"), owner,
                  [target] { QGuiApplication::clipboard()->setText(WholeFrame(target.frame)); });
  QAction* copy = menu->addAction(Tr("Copy &stack"), owner, [owner, document, target] {
    CopyStack(owner, *document, target.stack);
  });
  copy->setEnabled(target.stack.valid());
  menu->addSeparator();
  menu->addAction(Tr("&Filter to this function"), owner, [selection, target] {
    analysis::AllocationFilter filter = selection->filter();
    filter.text = analysis::QuoteFilterTerm(target.frame.function);
    selection->SetFilter(filter);
  });
  menu->addAction(Tr("&Leave out this function"), owner, [selection, target] {
    analysis::AllocationFilter filter = selection->filter();
    if (!filter.text.empty()) filter.text += ' ';
    filter.text += analysis::QuoteFilterTerm(target.frame.function, true);
    selection->SetFilter(filter);
  });
  QAction* site = menu->addAction(Tr("Filter to this s&ite"), owner, [selection, target] {
    analysis::AllocationFilter filter = selection->filter();
    filter.site = target.stack;
    selection->SetFilter(filter);
  });
  site->setEnabled(target.stack.valid());
  if (!target.stack.valid()) return;
  AddPinMenu(menu, document, [document, stack = target.stack] {
    if (document->symbols() == nullptr) return QString();
    return NameSites(*document->symbols(), {&stack, 1}).front().key;
  });
}

}  // namespace memprof::viewer
